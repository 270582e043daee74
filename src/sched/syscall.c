/* System calls that may block: the P is only lent to the kernel.
 *
 * entersyscall leaves the P with the M but marked Psyscall; whoever moves the status away from that (the M
 * when it is back, or sysmon's retake) has the P. Nothing is locked and nothing shared is written on
 * the way when the call is short: two stores and a CAS on our own P.
 */
#include "sched/sched.h"

void
entersyscall(struct g *gp)
{
    struct m *mp = acquirem(gp);
    struct p *pp = mp->p;

    gp->waitsince = load_rlx(&sched.now);
    store_rlx(&gp->status, Gsyscall);
    store_rlx(&pp->syscalltick, load_rlx(&pp->syscalltick) + 1);
    mp->oldp = pp;
    mp->p = NULL;
    gp->insys = true;
    compiler_barrier();
    store_rel(&pp->status, Psyscall);   /* from here the P may be gone */
    releasem(gp);
}

void
entersyscallblock(struct g *gp)
{
    struct m *mp = acquirem(gp);
    struct p *pp = mp->p;

    store_rlx(&pp->syscalltick, load_rlx(&pp->syscalltick) + 1);
    if (runqempty(pp) && load_rlx(&sched.runqsize) == 0) {
        releasem(gp);
        entersyscall(gp);
        return;
    }
    gp->waitsince = load_rlx(&sched.now);
    store_rlx(&gp->status, Gsyscall);
    mp->oldp = pp;
    gp->insys = true;
    mp->count.handoffs++;
    handoffp(releasep(mp));
    releasem(gp);
}

/* The old P if nobody took it, or any idle one. */
static bool
exitfast(struct m *mp)
{
    uint32_t insys = Psyscall;
    struct p *pp = mp->oldp;

    if (atomic_compare_exchange_strong_explicit(&pp->status, &insys, Prunning, memory_order_acq_rel,
                                                memory_order_relaxed)) {
        mp->p = pp;
        pp->m = mp;
        return true;
    }
    if (load_rlx(&sched.npidle) == 0)
        return false;
    return takeidlep(mp);
}

void
exitsyscall(struct g *gp)
{
    struct m *mp;

    gp->locks++;
    compiler_barrier();
    mp = gp->m;
    if (likely(exitfast(mp))) {
        gp->insys = false;
        store_rlx(&gp->status, Grunning);
        if (unlikely(load_rlx(&mp->p->preempt)) && mp->lockedg == NULL) {
            releasem(gp);
            gosched(gp);
            return;
        }
        releasem(gp);
        return;
    }
    gp->insys = false;
    store_rlx(&gp->status, Grunnable);
    if (unlikely(gp->cpuclock))
        cpuoff(gp);
    mp->prev = gp;
    mp->prevop = PrevGlobal;
    mp->curg = NULL;
    context_switch(&gp->sp, mp->g0sp, mp->g0tp);
    prevdone(gp->m);
    releasem(gp);
}

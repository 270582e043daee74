/* The CPU time of a G, which the kernel knows only of its Ms.
 *
 * Reading a kernel thread's CPU clock is a system call, too dear for every switch. So a G is measured exactly,
 * from switch to switch, only after somebody has asked for its time (g->cpuclock). Before that sysmon samples:
 * every few milliseconds it gives what an M has used since its last look to the G that runs there, as kernels
 * did with their clock tick. A thread that asks for the first time after it has computed for long gets
 * a good answer; one that asks before and after a short piece of work gets an exact difference.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/real.h"

enum { SAMPLE = 5 * 1000000 };

/* CLOCK_THREAD_CPUTIME_ID of another kernel thread; clock_getcpuclockid(3)'s encoding in the kernel. */
static int64_t
clockof(int tid)
{
    return clocknow((clockid_t)(~(unsigned)tid << 3 | 6));
}

void
cpuon(struct g *gp)
{
    store_rlx(&gp->cpubase, clocknow(CLOCK_THREAD_CPUTIME_ID));
}

void
cpuoff(struct g *gp)
{
    int64_t base = load_rlx(&gp->cpubase);

    if (base == 0)
        return;                 /* somebody asked after it was switched in: the sampling went on */
    store_rlx(&gp->cpuexact, load_rlx(&gp->cpuexact) + clocknow(CLOCK_THREAD_CPUTIME_ID) - base);
    store_rlx(&gp->cpubase, 0);
}

/* The M's time since it was sampled last is gp's, if gp has had it since. */
static int64_t
sincesample(struct m *mp)
{
    struct p *pp = mp->p;
    int64_t now = clocknow(CLOCK_THREAD_CPUTIME_ID), seen = load_rlx(&mp->cpuseen);

    return pp != NULL && seen != 0 && load_rlx(&mp->cputick) == load_rlx(&pp->schedtick) && now > seen ? now - seen : 0;
}

int64_t
cputime(struct g *gp)
{
    struct g *me = pin();
    int64_t ns = load_rlx(&gp->cpusampled) + load_rlx(&gp->cpuexact), base = load_rlx(&gp->cpubase);

    if (me != NULL && gp == me) {
        if (base != 0) {
            ns += clocknow(CLOCK_THREAD_CPUTIME_ID) - base;
        } else {
            int64_t more = sincesample(gp->m);

            gp->cpuclock = true;
            cpuon(gp);
            store_rlx(&gp->cpuexact, load_rlx(&gp->cpuexact) + more);
            ns += more;
        }
    } else {
        struct m *mp = *(struct m *volatile *)&gp->m;

        gp->cpuclock = true;    /* exactly from its next turn on */
        if (base != 0 && mp != NULL && *(struct g *volatile *)&mp->curg == gp)
            ns += clockof(load_rlx(&mp->tid)) - base;
    }
    unpin(me);
    return ns > 0 ? ns : 0;
}

/* sysmon, at each round. */
void
cpusample(int64_t now)
{
    static int64_t last;

    if (now - last < SAMPLE)
        return;
    last = now;
    for (int i = 0; i < gomaxprocs; i++) {
        struct p *pp = &allp[i];
        struct m *mp = *(struct m *volatile *)&pp->m;
        struct g *gp = mp != NULL ? *(struct g *volatile *)&mp->curg : NULL;
        int64_t used, seen;

        if (gp == NULL || load_rlx(&pp->status) != Prunning)
            continue;
        used = clockof(load_rlx(&mp->tid));
        seen = load_rlx(&mp->cpuseen);
        if (load_rlx(&gp->cpubase) == 0 && used > seen)
            store_rlx(&gp->cpusampled, load_rlx(&gp->cpusampled) + used - seen);
        store_rlx(&mp->cpuseen, used);
        store_rlx(&mp->cputick, load_rlx(&pp->schedtick));
    }
}

/* A new G on an old block; main, which has used some time already, with `ns`. */
void
cpureset(struct g *gp, int64_t ns)
{
    gp->cpuclock = false;
    store_rlx(&gp->cpubase, 0);
    store_rlx(&gp->cpuexact, 0);
    store_rlx(&gp->cpusampled, ns);
}

/* GODEBUG=schedtrace=N[,scheddetail=1]: Go's own lines, to stderr, without malloc or stdio. */
#include "sched/sched.h"

static int
qlen(struct p *pp)
{
    return (int)(load_acq(&pp->runqtail) - load_acq(&pp->runqhead)) + (load_acq(&pp->runnext) != NULL);
}

static void
detail(void)
{
    for (int i = 0; i < gomaxprocs; i++) {
        struct p *pp = &allp[i];
        struct m *mp = pp->m;

        print("  P%d: status=%d schedtick=%d syscalltick=%d m=%d runqsize=%d gfreecnt=%d timerslen=%d\n", i,
              (int)load_rlx(&pp->status), (int)load_rlx(&pp->schedtick), (int)load_rlx(&pp->syscalltick),
              mp != NULL ? mp->id : -1, qlen(pp), pp->ngfree, (int)pp->timers.n);
    }
    for (struct m *mp = load_acq(&sched.allms); mp != NULL; mp = mp->alllink) {
        struct g *gp = mp->curg, *lg = mp->lockedg;
        struct p *pp = mp->p;

        print("  M%d: p=%d curg=%l mallocing=0 throwing=0 preemptoff= locks=%d dying=0 spinning=%s blocked=%s lockedg=%l\n",
              mp->id, pp != NULL ? pp->id : -1, gp != NULL ? gp->goid : -1, gp != NULL ? gp->locks : 1,
              mp->spinning ? "true" : "false", gp == NULL && pp == NULL ? "true" : "false",
              lg != NULL ? lg->goid : -1);
    }
    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink) {
        struct m *mp = gp->m;
        int status = (int)load_rlx(&gp->status);
        bool on = status == Grunning || status == Gsyscall;

        if (status != Gdead)
            print("  G%l: status=%d(%s) m=%d lockedm=%d\n", gp->goid, status,
                  status == Gwaiting ? waitname(gp->waitreason) : "", on && mp != NULL ? mp->id : -1,
                  gp->lockedm != NULL ? gp->lockedm->id : -1);
    }
}

void
schedtrace(bool detailed)
{
    char line[8 * MAXPROCS + 256];
    size_t n;
    int threads, idle;

    lock(&sched.lock);
    threads = sched.mnext;
    idle = sched.nmidle;
    unlock(&sched.lock);
    n = format(line, sizeof line, "SCHED %lms: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d needspinning=%d idlethreads=%d runqueue=%d",
               (nanotime() - sched.boottime) / 1000000, gomaxprocs, (int)load_rlx(&sched.npidle), threads + 2,
               (int)load_rlx(&sched.nmspinning), (int)load_rlx(&sched.needspinning), idle,
               (int)load_rlx(&sched.runqsize));
    if (detailed) {
        n += format(line + n, sizeof line - n, " gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=%s\n",
                    load_rlx(&sched.sysmonwait) ? "true" : "false");
        sys3(SYS_write, 2, A(line), A(n));
        detail();
        return;
    }
    for (int i = 0; i < gomaxprocs; i++)
        n += format(line + n, sizeof line - n, i == 0 ? " [%d" : " %d", qlen(&allp[i]));
    n += format(line + n, sizeof line - n, "]\n");
    sys3(SYS_write, 2, A(line), A(n));
}

const char *
waitname(unsigned why)
{
    static const char *const names[] = {
        "", "mutex", "cond", "rwlock", "semaphore", "barrier", "once", "join", "futex",
        "sleep", "IO read", "IO write", "poll", "pause", "ended",
    };

    return why < sizeof names / sizeof *names ? names[why] : "";
}

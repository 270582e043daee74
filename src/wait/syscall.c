/* System calls that may block, announced to the scheduler; how signals and cancellation break them off. */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

/* The call was interrupted. By a signal that went to another G, for nothing: again. By a handler of
 * ours that was queued, which the kernel knows nothing of: as SA_RESTART and signal(7) say. */
static bool
goeson(struct g *gp, unsigned how, long r, long nr)
{
    if (r == NOTMADE)
        return gp->sigwait == 0 && !gp->showing && (!gp->masked || !gp->sigran);
    if (r != -EINTR || ((how & NoPoint) == 0 && cancelnow(gp)) || gp->sigwait != 0 || gp->showing)
        return false;           /* the latter looks at its queue first */
    if (!gp->sigran)
        return true;
    if (gp->sigintr || (how & Timed))
        return false;
    switch (nr) {
    case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_epoll_pwait2: case SYS_ppoll: case SYS_pselect6:
    case SYS_semop: case SYS_semtimedop: case SYS_msgsnd: case SYS_msgrcv: case SYS_pause: case SYS_rt_sigsuspend:
    case SYS_clock_nanosleep: case SYS_io_getevents: case SYS_io_pgetevents: case SYS_io_uring_enter:
        return false;
    }
    return true;
}

/* Into a call of libc's that may block. What was sent to gp while it was pinned in here is handled now; from
 * now on the SIGURG that tells of it does that: see incall in sched/preempt.c. */
void
io_entercall(struct g *gp)
{
    entersyscall(gp);
    compiler_barrier();
    if (unlikely(gp->sigwork))
        signal_deliver(gp);
}

long
io_syscall(unsigned how, long nr, long a, long b, long c, long d, long e, long f)
{
    struct g *gp = getg();
    long r;

    if (gp == NULL)
        return sys6(nr, a, b, c, d, e, f);
    if (!gp->masked)            /* it has begun before its mask was set */
        signal_begin(gp);
    do {
        if ((how & NoPoint) == 0 && cancelnow(gp))
            return -EINTR;
        if (how & Blocks)
            entersyscallblock(gp);
        else
            entersyscall(gp);
        /* What was queued for us before the kernel could be interrupted is handled first; whoever queues it
         * sets sigwork, and then pokes us: see breakcall. A cancellation may have set it before we looked at
         * signals last, which cleared it: from here on nobody does. */
        if (((how & NoPoint) == 0 && cancelnow(gp)) || ((gp->masked || gp->showing) && gp->sigran) ||
            (load_rlx(&gp->sigpend) & gp->sigwait) != 0)
            gp->sigwork = true; /* a handler ran after signal_maskedcall had set the mask, and ends it; or while which a signal came */
        r = sys6_unless(&gp->sigwork, nr, a, b, c, d, e, f);
        if (unlikely(curg != gp))       /* a handler forked, and this is the child, which is passive */
            return goeson(gp, how, r, nr) ? sys6(nr, a, b, c, d, e, f) : r == NOTMADE ? -EINTR : r;
        exitsyscall(gp);        /* handlers of what is queued run in here */
        if (unlikely(curg != gp))
            return goeson(gp, how, r, nr) ? sys6(nr, a, b, c, d, e, f) : r == NOTMADE ? -EINTR : r;
    } while (unlikely(r == NOTMADE || r == -EINTR) && goeson(gp, how, r, nr));
    return r == NOTMADE ? -EINTR : r;
}

/* The running G, and the signals that had to wait while it was pinned. See wait/signal.c. */
#include "base.h"

_Thread_local struct g *curg;
void (*signaldeliver)(struct g *gp);
void (*preemptdue)(struct g *gp);

/* The handler of a signal that came while its M was pinned has queued it again, blocked: let it come. The
 * flag is the M's, like the pending signal; if we are moved in between, the other M's next G does this. */
void
deferredsignals(struct g *gp)
{
    if (gp->m->deferred) {
        gp->m->deferred = false;
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
    }
    /* In a system call the mask is right but the G is not ours to lend out: exitsyscall comes here too. */
    if (gp->sigwork && !gp->insys) {
        if (signaldeliver != NULL)
            signaldeliver(gp);
        if (preemptdue != NULL)
            preemptdue(gp);
    }
}

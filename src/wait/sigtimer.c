/* Timers that signal one thread (SIGEV_THREAD_ID).
 *
 * The kernel has them signal the process, since it does not know our tids, and siginfo names the timer. A table
 * says for whom it is: open addressing by the kernel's small timer ids; entries change under timerlock.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"

enum { MAXTIMERS = 4096 };

static struct { int timer, tid; } ktimers[MAXTIMERS];      /* tid 0: free, -1: was in use */
static _Atomic bool ktimersused;
static struct lock timerlock;

/* timerlock held. */
static int
timerslot(int timer)
{
    for (int i = 0; i < MAXTIMERS; i++) {
        int at = (int)(((unsigned)timer + (unsigned)i) % MAXTIMERS);

        if (ktimers[at].tid == 0)
            return -1;
        if (ktimers[at].tid > 0 && ktimers[at].timer == timer)
            return at;
    }
    return -1;
}

bool
signal_timer(int timer, int tid)
{
    uint64_t mask = 0;
    struct g *me;
    int at;

    if (tid == 0 && !load_rlx(&ktimersused))
        return true;
    store_rlx(&ktimersused, true);
    me = pin();
    signal_hold(me, &mask);
    lock(&timerlock);
    at = timerslot(timer);
    if (at >= 0) {
        ktimers[at].tid = tid != 0 ? tid : -1;
    } else if (tid != 0) {
        for (int i = 0; i < MAXTIMERS && at < 0; i++) {
            int free = (int)(((unsigned)timer + (unsigned)i) % MAXTIMERS);

            if (ktimers[free].tid <= 0)
                at = free;
        }
        if (at >= 0) {
            ktimers[at].timer = timer;
            ktimers[at].tid = tid;
        }
    }
    unlock(&timerlock);
    signal_unhold(me, &mask);
    unpin(me);
    return tid == 0 || at >= 0;
}

bool
signal_timed(const siginfo_t *info, struct g **to)
{
    uint64_t mask = 0;
    struct g *me;
    int at, tid;

    if (info->si_code != SI_TIMER || !load_rlx(&ktimersused))
        return false;
    me = pin();
    signal_hold(me, &mask);
    lock(&timerlock);
    at = timerslot(info->si_timerid);
    tid = at >= 0 ? ktimers[at].tid : 0;
    unlock(&timerlock);
    signal_unhold(me, &mask);
    unpin(me);
    *to = tid > 0 ? thread_bytid(tid) : NULL;
    return tid > 0;
}

/* The child has the table, but none of the timers. */
void
signal_resettimers(void)
{
    store_rlx(&timerlock.key, 0);
}

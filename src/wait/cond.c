/* Condition variables. Nothing is kept in the pthread_cond_t but the clock that pthread_cond_init put
 * there (bit 1 of __wrefs): the waiters are in park's queue, and whether there are any is one load of its
 * bucket. A signaller that holds the mutex, or changed the predicate under it, comes after the waiter's
 * release of the mutex, so it sees the waiter queued.
 *
 * broadcast wakes one waiter and moves the others to the mutex's queue; each unlock then wakes the next.
 * Every waiter takes the mutex as contended (2), so the chain does not break.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

/* A mutex of libc's: the names the program uses, which lend the P and lock the G to its M. */
static int
unlockmutex(pthread_mutex_t *m)
{
    return unlikely(m->__data.__kind & MutexReal) ? -realmutex_unlock(m) : mutex_unlock(m);
}

/* The mutex was not ours to release: out of the queue again, without losing a signal that came meanwhile. */
static int
undo(struct waiter *w, pthread_cond_t *c, int r)
{
    bool parked;

    if (gclaim(w->wake, WakeSignal, &parked))
        parkend(w, 0, WaitCond);
    else if (parkend(w, 0, WaitCond) == 0)
        cond_signal(c);
    return r;
}

int
cond_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    struct waiter w;
    int64_t when = 0;
    int r = 0, rl;

    if (abs != NULL && (r = deadline(clock, abs, &when)) < 0)
        return r;
    w.aux = m->__data.__kind & MutexReal ? NULL : mutexword(m);
    parkbegin(&w, c, NULL, 0, 1);
    r = unlockmutex(m);
    if (unlikely(r < 0))
        return undo(&w, c, r);
    r = parkend(&w, when, WaitCond);
    /* Moved by a broadcast: what it waited for has happened, however it came out of the mutex's queue.
     * A clock set back, or a signal handler: a spurious wake-up. */
    if (r == -EINTR || (r == -ETIMEDOUT && (w.requeued || beforetime(clock, abs))))
        r = 0;
    rl = mutex_relock(m);
    return rl < 0 ? rl : r;
}

void
cond_signal(pthread_cond_t *c)
{
    if (parkedat(c))
        unpark(c, 1, ~0u);
}

void
cond_broadcast(pthread_cond_t *c)
{
    if (parkedat(c))
        unparkmove(c);
}

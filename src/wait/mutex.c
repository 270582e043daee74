/* Mutexes, in glibc's own pthread_mutex_t and with glibc's meaning of its lock word (0 free, 1 locked,
 * 2 locked and perhaps waited for), so that a mutex may be locked while we are passive and unlocked
 * later, and the other way round in a forked child.
 *
 * The unlocker gives the lock free and wakes one waiter, which takes it as 2 when it gets it: as long as a woken
 * waiter has not run, lock and unlock by others cost no wake-up. Contenders spin a little while the lock
 * is held elsewhere, if there is another P to hold it.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

enum { SPINS = 30 };

int
self_tid(void)
{
    int tid = curtid;

    if (unlikely(tid == 0))
        curtid = tid = (int)sys3(SYS_gettid, 0, 0, 0);
    return tid;
}

static inline void
own(pthread_mutex_t *m)
{
    m->__data.__owner = self_tid();
    m->__data.__nusers++;
}

static inline bool
take(pthread_mutex_t *m)
{
    uint32_t free = 0;

    return atomic_compare_exchange_strong_explicit(mutexword(m), &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool
spin(_Atomic uint32_t *word)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t w = load_rlx(word);

        if (w == 0 && atomic_compare_exchange_weak_explicit(word, &w, 1, memory_order_acquire, memory_order_relaxed))
            return true;
        if (w == 2)
            return false;       /* others wait already */
        cpu_pause();
    }
    return false;
}

int
mutex_lockslow(pthread_mutex_t *m, int64_t when)
{
    _Atomic uint32_t *word = mutexword(m);
    struct g *gp = getg();
    int r;

    if (gp != NULL)
        preemptpoint(gp);
    if (gomaxprocs > 1 && spin(word))
        return 0;
    while (atomic_exchange_explicit(word, 2, memory_order_acquire) != 0) {
        r = park(word, 2, when, 1, WaitMutex);
        if (r == -ETIMEDOUT)
            return r;
    }
    return 0;
}

/* Recursive, errorcheck and adaptive. */
static int
lockkind(pthread_mutex_t *m, int64_t when, bool try)
{
    int kind = mutexkind(m);
    bool mine = m->__data.__owner == self_tid();

    if (kind == PTHREAD_MUTEX_RECURSIVE_NP && mine) {
        if (m->__data.__count + 1 == 0)
            return -EAGAIN;
        m->__data.__count++;
        return 0;
    }
    if (kind == PTHREAD_MUTEX_ERRORCHECK_NP && mine && !try)
        return -EDEADLK;
    if (!take(m)) {
        int r = try ? -EBUSY : mutex_lockslow(m, when);

        if (r < 0)
            return r;
    }
    if (kind == PTHREAD_MUTEX_RECURSIVE_NP)
        m->__data.__count = 1;
    own(m);
    return 0;
}

int
mutex_lock(pthread_mutex_t *m)
{
    if (likely(mutexkind(m) == PTHREAD_MUTEX_TIMED_NP)) {
        if (unlikely(!take(m)))
            mutex_lockslow(m, 0);
        own(m);
        return 0;
    }
    return lockkind(m, 0, false);
}

int
mutex_relock(pthread_mutex_t *m)
{
    _Atomic uint32_t *word = mutexword(m);
    int kind = mutexkind(m);

    if (unlikely(m->__data.__kind & MutexReal))
        return -realmutex_lock(m);
    if (kind == PTHREAD_MUTEX_RECURSIVE_NP && m->__data.__owner == self_tid())
        return lockkind(m, 0, false);
    while (atomic_exchange_explicit(word, 2, memory_order_acquire) != 0)
        park(word, 2, 0, 1, WaitMutex);
    if (kind == PTHREAD_MUTEX_RECURSIVE_NP)
        m->__data.__count = 1;
    own(m);
    return 0;
}

int
mutex_trylock(pthread_mutex_t *m)
{
    return lockkind(m, 0, true);
}

int
mutex_timedlock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    int64_t when;
    int r;

    /* A lock that is free is taken whatever the time says (POSIX); only a wait looks at it. */
    r = lockkind(m, 0, true);
    if (r != -EBUSY)
        return r;
    if (mutexkind(m) == PTHREAD_MUTEX_ERRORCHECK_NP && m->__data.__owner == self_tid())
        return -EDEADLK;
    do {
        r = deadline(clock, abs, &when);
        if (r == 0)
            r = lockkind(m, when, false);
    } while (r == -ETIMEDOUT && beforetime(clock, abs));
    return r;
}

/* A G that wakes waiters of mutexes again and again within microseconds will want the mutex back before a
 * woken M could get at it: no M is woken for the waiter then, which is next on this P. */
void
mutex_wake(pthread_mutex_t *m)
{
    struct g *gp = getg();

    if (gp != NULL && gomaxprocs > 1) {
        uint64_t now = cpu_ticks();

        if (now - gp->mutextick < QUICKUS * ticks_per_us)
            gp->quick = 3;
        gp->mutextick = now;
    }
    unpark(mutexword(m), 1, ~0u);
}

int
mutex_unlock(pthread_mutex_t *m)
{
    int kind = mutexkind(m);

    if (unlikely(kind == PTHREAD_MUTEX_RECURSIVE_NP || kind == PTHREAD_MUTEX_ERRORCHECK_NP)) {
        if (m->__data.__owner != self_tid() || load_rlx(mutexword(m)) == 0)
            return -EPERM;
        if (kind == PTHREAD_MUTEX_RECURSIVE_NP && --m->__data.__count != 0)
            return 0;
    }
    m->__data.__owner = 0;
    m->__data.__nusers--;
    if (unlikely(atomic_exchange_explicit(mutexword(m), 0, memory_order_release) == 2))
        mutex_wake(m);
    return 0;
}

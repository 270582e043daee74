/* Mutexes, condition variables, rwlocks, spin locks, barriers, semaphores, once; C11's of the same.
 *
 * What other processes may share, and what the kernel must know of (robust, priority inheritance and
 * protection), is left to libc, while the M lends its P. */
#define _GNU_SOURCE 1
#include "hook/hook.h"

static inline bool
libcs(const pthread_mutex_t *m)
{
    return unlikely(m->__data.__kind & MutexReal);
}

HOOK int
pthread_mutex_lock(pthread_mutex_t *m)
{
    if (unlikely(!active))
        return libcs(m) ? realmutex_passive(real.pthread_mutex_lock(m), 1) : real.pthread_mutex_lock(m);
    if (libcs(m))
        return realmutex_lock(m);
    return -mutex_lock(m);
}

HOOK int
pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (unlikely(!active))
        return libcs(m) ? realmutex_passive(real.pthread_mutex_trylock(m), 1) : real.pthread_mutex_trylock(m);
    if (libcs(m))
        return realmutex_trylock(m);
    return -mutex_trylock(m);
}

HOOK int
pthread_mutex_unlock(pthread_mutex_t *m)
{
    struct g *gp;
    int r;

    if (unlikely(!active))
        return libcs(m) ? realmutex_passive(real.pthread_mutex_unlock(m), -1) : real.pthread_mutex_unlock(m);
    if (libcs(m))
        return realmutex_unlock(m);
    r = -mutex_unlock(m);
    gp = curg;
    if (gp != NULL && unlikely(gp->sigwork))
        unpin(pin());           /* a good place to be preempted: others may want what we have just given back */
    return r;
}

HOOK int
pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    if (unlikely(!active))
        return real.pthread_mutex_clocklock(m, clock, abs);
    if (libcs(m))
        return realmutex_clocklock(m, clock, abs);
    return -mutex_timedlock(m, clock, abs);
}

HOOK int
pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *abs)
{
    if (unlikely(!active))
        return real.pthread_mutex_timedlock(m, abs);
    return pthread_mutex_clocklock(m, CLOCK_REALTIME, abs);
}

/* ---- condition variables; __wrefs: bit 0 shared, bit 1 CLOCK_MONOTONIC ---- */

static inline bool
sharedcond(const pthread_cond_t *c)
{
    return unlikely(c->__data.__wrefs & 1);
}

static int
condwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    struct g *gp;
    int r;

    cancelpoint();
    if (likely(!sharedcond(c))) {
        r = -cond_wait(c, m, clock, abs);
        cancelpoint();
        return r;
    }
    gp = enterreal();
    r = abs == NULL ? real.pthread_cond_wait(c, m) : real.pthread_cond_clockwait(c, m, clock, abs);
    exitreal(gp);
    return r;
}

HOOK int
pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    if (unlikely(!active))
        return real.pthread_cond_wait(c, m);
    return FRAMED(condwait(c, m, CLOCK_REALTIME, NULL));
}

HOOK int
pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *abs)
{
    if (unlikely(!active))
        return real.pthread_cond_timedwait(c, m, abs);
    return FRAMED(condwait(c, m, c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, abs));
}

HOOK int
pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    if (unlikely(!active))
        return real.pthread_cond_clockwait(c, m, clock, abs);
    return FRAMED(condwait(c, m, clock, abs));
}

HOOK int
pthread_cond_signal(pthread_cond_t *c)
{
    if (unlikely(!active) || sharedcond(c))
        return real.pthread_cond_signal(c);
    cond_signal(c);
    return 0;
}

HOOK int
pthread_cond_broadcast(pthread_cond_t *c)
{
    if (unlikely(!active) || sharedcond(c))
        return real.pthread_cond_broadcast(c);
    cond_broadcast(c);
    return 0;
}

/* ---- read-write locks ---- */

static inline bool
sharedrwlock(const pthread_rwlock_t *rw)
{
    return unlikely(rw->__data.__shared);
}

static int
rwlocked(pthread_rwlock_t *rw, bool write, clockid_t clock, const struct timespec *abs)
{
    int64_t when = 0;
    int r = write ? rwlock_wrlock(rw, 0, true) : rwlock_rdlock(rw, 0, true);

    if (r != -EBUSY)
        return -r;
    do {
        if (abs != NULL && (r = deadline(clock, abs, &when)) < 0) {
            if (r == -EINVAL)
                return EINVAL;
            when = r;
        }
        r = write ? rwlock_wrlock(rw, when, false) : rwlock_rdlock(rw, when, false);
    } while (r == -ETIMEDOUT && beforetime(clock, abs));
    return -r;
}

/* Shared between processes: libc's. It knows the writer by its tid, which must be the kernel's then. */
static int
libcrwlock(pthread_rwlock_t *rw, int (*fn)(pthread_rwlock_t *))
{
    struct g *gp;

    if (!active)
        return fn(rw);
    gp = realmutex_hold();
    return realmutex_held(gp, fn(rw));
}

#define RWLOCK(kind, write) \
    HOOK int \
    pthread_rwlock_##kind##lock(pthread_rwlock_t *rw) \
    { \
        if (unlikely(!active) || sharedrwlock(rw)) \
            return libcrwlock(rw, real.pthread_rwlock_##kind##lock); \
        return FRAMED(rwlocked(rw, write, CLOCK_REALTIME, NULL)); \
    } \
    HOOK int \
    pthread_rwlock_try##kind##lock(pthread_rwlock_t *rw) \
    { \
        if (unlikely(!active) || sharedrwlock(rw)) \
            return libcrwlock(rw, real.pthread_rwlock_try##kind##lock); \
        return -rwlock_##kind##lock(rw, 0, true); \
    } \
    HOOK int \
    pthread_rwlock_clock##kind##lock(pthread_rwlock_t *rw, clockid_t clock, const struct timespec *abs) \
    { \
        struct g *gp; \
        int r; \
\
        if (unlikely(!active)) \
            return real.pthread_rwlock_clock##kind##lock(rw, clock, abs); \
        if (!sharedrwlock(rw)) \
            return FRAMED(rwlocked(rw, write, clock, abs)); \
        gp = realmutex_hold(); \
        r = real.pthread_rwlock_clock##kind##lock(rw, clock, abs); \
        return realmutex_held(gp, r); \
    } \
    HOOK int \
    pthread_rwlock_timed##kind##lock(pthread_rwlock_t *rw, const struct timespec *abs) \
    { \
        return pthread_rwlock_clock##kind##lock(rw, CLOCK_REALTIME, abs); \
    }

RWLOCK(rd, false)
RWLOCK(wr, true)

HOOK int
pthread_rwlock_unlock(pthread_rwlock_t *rw)
{
    int r;

    if (likely(active) && !sharedrwlock(rw))
        return -rwlock_unlock(rw);
    r = real.pthread_rwlock_unlock(rw);
    if (active && r == 0)
        realmutex_release(getg());
    return r;
}

/* ---- spin locks: after a while, let others run: one of them may hold it ---- */

HOOK int
pthread_spin_lock(pthread_spinlock_t *lock)
{
    struct g *gp;

    if (unlikely(!active) || (gp = getg()) == NULL)
        return real.pthread_spin_lock(lock);
    for (;;) {
        for (int i = 0; i < 100; i++) {
            if (pthread_spin_trylock(lock) == 0)
                return 0;
            while (*(volatile const int *)lock <= 0 && i++ < 100)
                cpu_pause();
        }
        gosched(gp);
    }
}

/* ---- barriers; the fourth word says shared ---- */

HOOK int
pthread_barrier_wait(pthread_barrier_t *b)
{
    struct g *gp;
    int r;

    if (likely(active) && ((int *)b)[3] == 0)
        return FRAMED(barrier_wait(b));
    gp = active ? enterreal() : NULL;
    r = real.pthread_barrier_wait(b);
    exitreal(gp);
    return r;
}

/* ---- semaphores; the third word says shared, as in all named ones ---- */

static inline bool
sharedsem(const sem_t *s)
{
    return unlikely(((const int *)(const void *)s)[2] != 0);
}

static int
semtimed(sem_t *s, clockid_t clock, const struct timespec *abs)
{
    int64_t when = 0;
    int r;

    cancelpoint();
    if (sema_trywait(s) == 0)
        return 0;
    do {
        if (abs != NULL && (r = deadline(clock, abs, &when)) < 0)
            return (int)sysret(r);
        r = interrupted(sema_wait(s, when, sharedsem(s)));
    } while (r == -ETIMEDOUT && beforetime(clock, abs));
    return (int)sysret(r);
}

HOOK int
sem_wait(sem_t *s)
{
    return likely(active) ? FRAMED(semtimed(s, CLOCK_REALTIME, NULL)) : real.sem_wait(s);
}

HOOK int
sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *abs)
{
    return likely(active) ? FRAMED(semtimed(s, clock, abs)) : real.sem_clockwait(s, clock, abs);
}

HOOK int
sem_timedwait(sem_t *s, const struct timespec *abs)
{
    return sem_clockwait(s, CLOCK_REALTIME, abs);
}

HOOK int
sem_trywait(sem_t *s)
{
    if (unlikely(!active) || sharedsem(s))
        return real.sem_trywait(s);
    return (int)sysret(sema_trywait(s));
}

HOOK int
sem_post(sem_t *s)
{
    if (unlikely(!active) || sharedsem(s))
        return real.sem_post(s);
    return (int)sysret(sema_post(s));
}

/* ---- once ---- */

HOOK int
pthread_once(pthread_once_t *control, void (*fn)(void))
{
    if (unlikely(!active))
        return real.pthread_once(control, fn);
    return likely(load_acq((_Atomic int *)control) == 2) ? 0 : once(control, fn);
}

HOOK void
call_once(once_flag *flag, void (*fn)(void))
{
    pthread_once(&flag->__data, fn);
}

/* ---- C11: mtx_t and cnd_t are pthread objects in libc ---- */

static int
thrdcode(int r)
{
    return r == 0 ? thrd_success : r == EBUSY ? thrd_busy : r == ETIMEDOUT ? thrd_timedout :
           r == ENOMEM ? thrd_nomem : thrd_error;
}

HOOK int
mtx_lock(mtx_t *m)
{
    return thrdcode(pthread_mutex_lock((pthread_mutex_t *)m));
}

HOOK int
mtx_trylock(mtx_t *m)
{
    return thrdcode(pthread_mutex_trylock((pthread_mutex_t *)m));
}

HOOK int
mtx_timedlock(mtx_t *m, const struct timespec *abs)
{
    return thrdcode(pthread_mutex_timedlock((pthread_mutex_t *)m, abs));
}

HOOK int
mtx_unlock(mtx_t *m)
{
    return thrdcode(pthread_mutex_unlock((pthread_mutex_t *)m));
}

HOOK int
cnd_wait(cnd_t *c, mtx_t *m)
{
    return thrdcode(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

HOOK int
cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *abs)
{
    return thrdcode(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, abs));
}

HOOK int
cnd_signal(cnd_t *c)
{
    return thrdcode(pthread_cond_signal((pthread_cond_t *)c));
}

HOOK int
cnd_broadcast(cnd_t *c)
{
    return thrdcode(pthread_cond_broadcast((pthread_cond_t *)c));
}

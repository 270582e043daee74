/* CPU clocks of threads, and timers that signal a thread: by the ids that a G has instead of the kernel's. */
#define _GNU_SOURCE 1
#include "hook/hook.h"

/* A clock id for the CPU time of the thread `tid`, and back; the kernel's encoding. */
enum { THREADCLOCK = 6, MAXTID = 1 << 28 };

static clockid_t
clockfor(int tid)
{
    return (clockid_t)(~(unsigned)tid << 3 | THREADCLOCK);
}

/* The G whose CPU time `clock` is; NULL: it is another kind of clock. */
static struct g *
clockg(clockid_t clock)
{
    if (!active)
        return NULL;
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        return getg();
    return clock < 0 && (clock & 7) == THREADCLOCK ? thread_bytid(~(clock >> 3)) : NULL;
}

HOOK int
clock_gettime(clockid_t clock, struct timespec *ts)
{
    struct g *gp;
    int64_t ns;

    if ((gp = curg) != NULL)
        preemptpoint(gp);       /* a loop that waits for a time is nearly always in here, or in the vDSO */
    if (likely(clock >= 0 && clock != CLOCK_THREAD_CPUTIME_ID) || (gp = clockg(clock)) == NULL)
        return real.clock_gettime(clock, ts);
    ns = cputime(gp);
    ts->tv_sec = ns / 1000000000;
    ts->tv_nsec = ns % 1000000000;
    return 0;
}

HOOK int
clock_getres(clockid_t clock, struct timespec *ts)
{
    return real.clock_getres(clockg(clock) != NULL ? CLOCK_THREAD_CPUTIME_ID : clock, ts);
}

HOOK int
pthread_getcpuclockid(pthread_t th, clockid_t *clock)
{
    struct g *gp = active ? thread_of(th) : NULL;

    if (gp == NULL)
        return real.pthread_getcpuclockid(th, clock);
    if (gp->tid >= MAXTID)
        return ENOENT;          /* the id has no room for it */
    *clock = clockfor(gp->tid);
    return 0;
}

/* The kernel's figures are those of the M, in all but the times. */
HOOK int
getrusage(__rusage_who_t who, struct rusage *ru)
{
    struct g *gp = who == RUSAGE_THREAD ? getg() : NULL;
    int r = real.getrusage(who, ru);
    int64_t user, sys, ns;

    if (gp == NULL || r != 0)
        return r;
    ns = cputime(gp);
    user = ru->ru_utime.tv_sec * INT64_C(1000000) + ru->ru_utime.tv_usec;
    sys = ru->ru_stime.tv_sec * INT64_C(1000000) + ru->ru_stime.tv_usec;
    sys = user + sys > 0 ? (int64_t)((double)ns / 1000 * (double)sys / (double)(user + sys)) : 0;
    user = ns / 1000 - sys;
    ru->ru_utime = (struct timeval){ user / 1000000, user % 1000000 };
    ru->ru_stime = (struct timeval){ sys / 1000000, sys % 1000000 };
    return r;
}

/* ---- timers ---- */

/* A timer on the own CPU clock is the kernel's for the M: the G stays there. */
static clockid_t
timerclock(clockid_t clock)
{
    struct g *gp = clock == CLOCK_THREAD_CPUTIME_ID || clock < 0 ? clockg(clock) : NULL;

    if (gp == NULL || gp != curg)
        return clock;
    affine(GOSSAMER_LOCK_TIMER);
    return CLOCK_THREAD_CPUTIME_ID;
}

/* SIGEV_THREAD_ID names a thread that the kernel does not know, or would take for its first one: the
 * signal goes to the process then, and signal_timer's table says to whom it is handed on. */
static struct g *
timertarget(const struct sigevent *ev)
{
    return active && ev != NULL && ev->sigev_notify == SIGEV_THREAD_ID ? thread_bytid(ev->_sigev_un._tid) : NULL;
}

HOOK int
timer_create(clockid_t clock, struct sigevent *restrict ev, timer_t *restrict timer)
{
    struct g *gp = timertarget(ev);
    struct sigevent own;
    int r;

    if (!active)
        return real.timer_create(clock, ev, timer);
    clock = timerclock(clock);
    if (gp == NULL)
        return real.timer_create(clock, ev, timer);
    own = *ev;
    own.sigev_notify = SIGEV_SIGNAL;
    r = real.timer_create(clock, &own, timer);
    if (r == 0 && !signal_timer((int)(intptr_t)*timer, gp->tid)) {
        real.timer_delete(*timer);
        return (int)sysret(-EAGAIN);
    }
    return r;
}

HOOK int
timer_delete(timer_t timer)
{
    if (active)
        signal_timer((int)(intptr_t)timer, 0);
    return real.timer_delete(timer);
}

/* The same as raw system calls; -errno. */
long
timerraw(long nr, const long a[6])
{
    struct sigevent *ev = (struct sigevent *)a[1], own;
    struct g *gp = NULL;
    int *id = (int *)a[2];
    long r;

    if (nr == SYS_timer_delete) {
        signal_timer((int)a[0], 0);
        return sys3(SYS_timer_delete, a[0], 0, 0);
    }
    gp = timertarget(ev);
    if (gp == NULL)
        return sys3(SYS_timer_create, timerclock((clockid_t)a[0]), A(ev), A(id));
    own = *ev;
    own.sigev_notify = SIGEV_SIGNAL;
    r = sys3(SYS_timer_create, timerclock((clockid_t)a[0]), A(&own), A(id));
    if (r == 0 && !signal_timer(*id, gp->tid)) {
        sys3(SYS_timer_delete, *id, 0, 0);
        return -EAGAIN;
    }
    return r;
}

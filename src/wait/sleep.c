/* Sleeping, and what a timespec means. */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

enum { SEC = 1000000000 };

static bool
valid(const struct timespec *ts)
{
    return ts->tv_nsec >= 0 && ts->tv_nsec < SEC;
}

/* Saturates: a wait of 292 years is for ever. */
static int64_t
nanoseconds(const struct timespec *ts)
{
    return ts->tv_sec >= INT64_MAX / SEC - 1 ? INT64_MAX / 2 : ts->tv_sec * SEC + ts->tv_nsec;
}

int
deadline(clockid_t clock, const struct timespec *abs, int64_t *out)
{
    int64_t when;

    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return -EINVAL;
    if (!valid(abs))
        return -EINVAL;
    if (abs->tv_sec < 0)
        return -ETIMEDOUT;
    when = nanoseconds(abs);
    if (clock == CLOCK_REALTIME)
        when = when - clocknow(CLOCK_REALTIME) + nanotime();
    *out = when > 0 ? when : 1;
    return 0;
}

bool
beforetime(clockid_t clock, const struct timespec *abs)
{
    return abs != NULL && clocknow(clock) < nanoseconds(abs);
}

/* Parks until `when` (monotonic). False: woken by something else first. */
static bool
parkuntil(struct g *gp, int64_t when)
{
    struct m *mp = acquirem(gp);
    uint32_t wake;

    store_rlx(&gp->wake, WakeArmed);
    gp->timer.gp = gp;
    timeradd(mp->p, &gp->timer, when);
    wake = gopark(gp, WaitSleep);
    timerdel(&gp->timer);
    releasem(gp);
    return wake == WakeTimeout;
}

int
sleep_for(const struct timespec *req, struct timespec *rem)
{
    struct g *gp = getg();
    int64_t when, left;

    if (gp == NULL)
        return (int)sys3(SYS_nanosleep, A(req), A(rem), 0);
    if (!valid(req) || req->tv_sec < 0)
        return -EINVAL;
    left = nanoseconds(req);
    when = nanotime();
    when = left > INT64_MAX - when ? INT64_MAX : when + left;
    if (left == 0) {
        gosched(gp);
        return 0;
    }
    signal_begin(gp);
    do
        if (parkuntil(gp, when))
            return 0;
    while (!gp->sigran && !cancelnow(gp));
    left = when - nanotime();
    if (left <= 0)
        return 0;
    if (rem != NULL)
        *rem = (struct timespec){ left / SEC, left % SEC };
    return -EINTR;
}

int
sleep_clock(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem)
{
    struct g *gp = getg();
    int64_t when;
    bool slept = false;

    /* Other clocks (CPU time, boot time) are the kernel's business. */
    if (gp == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)) {
        if (clock == CLOCK_THREAD_CPUTIME_ID)
            return -EINVAL;
        return (int)io_syscall(Blocks, SYS_clock_nanosleep, clock, flags, A(req), A(rem), 0, 0);
    }
    if (!(flags & TIMER_ABSTIME))
        return sleep_for(req, rem);
    if (!valid(req) || req->tv_sec < 0)
        return -EINVAL;
    for (;;) {
        if (deadline(clock, req, &when) < 0 || clocknow(clock) >= nanoseconds(req)) {
            if (!slept)         /* who has waited for its time goes on at once */
                gosched(gp);
            return 0;
        }
        signal_begin(gp);
        slept = true;
        if (!parkuntil(gp, when) && (gp->sigran || cancelnow(gp)))
            return -EINTR;
    }
}

/* Sleeping and yielding. */
#define _GNU_SOURCE 1
#include "hook/hook.h"

HOOK int
nanosleep(const struct timespec *req, struct timespec *rem)
{
    if (unlikely(!active))
        return real.nanosleep(req, rem);
    cancelpoint();
    return (int)sysret(interrupted(sleep_for(req, rem)));
}

HOOK int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem)
{
    if (unlikely(!active))
        return real.clock_nanosleep(clock, flags, req, rem);
    cancelpoint();
    return -interrupted(sleep_clock(clock, flags, req, rem));
}

HOOK int
usleep(useconds_t us)
{
    struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

    return nanosleep(&ts, NULL);
}

HOOK unsigned
sleep(unsigned seconds)
{
    struct timespec ts = { seconds, 0 }, rem = { 0, 0 };
    int saved = errno;

    if (nanosleep(&ts, &rem) == 0) {
        errno = saved;
        return 0;
    }
    return (unsigned)rem.tv_sec + (rem.tv_nsec >= 500000000);
}

HOOK int
thrd_sleep(const struct timespec *req, struct timespec *rem)
{
    int r;

    if (unlikely(!active))
        return real.thrd_sleep(req, rem);
    r = interrupted(sleep_for(req, rem));
    return r == 0 ? 0 : r == -EINTR ? -1 : -2;
}

HOOK int
sched_yield(void)
{
    struct g *gp;

    if (unlikely(!active) || (gp = getg()) == NULL)
        return real.sched_yield();
    gosched(gp);
    return 0;
}

HOOK void
thrd_yield(void)
{
    sched_yield();
}

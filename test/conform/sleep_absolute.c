/*
 * clock_nanosleep with TIMER_ABSTIME: not before the deadline, 0 at once when it is past, EINVAL for
 * bad nanoseconds; the remainder argument is left alone.  POSIX clock_nanosleep.
 */
#include "conform.h"

static void
until(const char *name, clockid_t clk, long ms)
{
    struct timespec ts = after_ms(clk, ms), rem = { 77, 77 };

    printf("%s %+ld ms: %s", name, ms, errname(clock_nanosleep(clk, TIMER_ABSTIME, &ts, &rem)));
    printf(", %s, remainder %ld %ld\n", reached(clk, &ts) ? "not early" : "early",
           (long)rem.tv_sec, rem.tv_nsec);
}

static void *
sleeper(void *arg)
{
    struct timespec bad = { 0, 1000000000 }, zero = { 0, 0 };

    (void)arg;
    until("monotonic", CLOCK_MONOTONIC, 20);
    until("monotonic", CLOCK_MONOTONIC, 0);
    until("monotonic", CLOCK_MONOTONIC, -1000);
    until("realtime", CLOCK_REALTIME, 20);
    until("realtime", CLOCK_REALTIME, -1000);
    until("boottime", CLOCK_BOOTTIME, 20);
    RC(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &zero, NULL));
    RC(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &bad, NULL));
    return NULL;
}

int
main(void)
{
    join(spawn(sleeper, NULL));
    return conform_status();
}

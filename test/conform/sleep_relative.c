/*
 * nanosleep, usleep, sleep and relative clock_nanosleep in a thread: 0, and never earlier than asked;
 * a length of 0 returns at once; a bad timespec is EINVAL.  POSIX nanosleep, clock_nanosleep; usleep(3).
 */
#include "conform.h"

/* Prints whether call took at least ms. */
#define ATLEAST(ms, call)                                                       \
    do {                                                                        \
        struct timespec until_ = after_ms(CLOCK_MONOTONIC, ms);                 \
        SYS(call);                                                              \
        printf("    %s\n", reached(CLOCK_MONOTONIC, &until_) ? "not early" : "early");  \
    } while (0)

static void *
sleeper(void *arg)
{
    struct timespec ten = { 0, 10000000 }, none = { 0, 0 }, bad = { 0, 1000000000 },
                    negative = { -1, 0 }, badnsec = { 0, -1 };

    (void)arg;
    ATLEAST(10, nanosleep(&ten, NULL));
    ATLEAST(10, usleep(10000));
    ATLEAST(10, clock_nanosleep(CLOCK_MONOTONIC, 0, &ten, NULL));
    ATLEAST(10, clock_nanosleep(CLOCK_REALTIME, 0, &ten, NULL));
    ATLEAST(1000, sleep(1));
    SYS(nanosleep(&none, NULL));
    SYS(usleep(0));
    SYS(sleep(0));
    SYS(nanosleep(&bad, NULL));
    SYS(nanosleep(&negative, NULL));
    SYS(nanosleep(&badnsec, NULL));
    RC(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL));
    RC(clock_nanosleep(CLOCK_MONOTONIC, 0, &negative, NULL));
    RC(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ten, NULL));
    RC(clock_nanosleep(9999, 0, &ten, NULL));
    return NULL;
}

int
main(void)
{
    join(spawn(sleeper, NULL));
    return conform_status();
}

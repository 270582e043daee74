/*
 * A read of a timerfd waits for the expiry, counts the missed ones, and is EAGAIN on a non-blocking one;
 * five threads with timers of their own do not disturb one another.  timerfd_create(2).
 */
#include "conform.h"
#include <sys/timerfd.h>

enum { N = 5 };

static int early;

static void *
ticks(void *arg)
{
    struct itimerspec it = { { 0, 5000000 }, { 0, 5000000 } };
    struct timespec until = after_ms(CLOCK_MONOTONIC, 50);
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t v, n = 0;

    (void)arg;
    CHECK(timerfd_settime(fd, 0, &it, NULL) == 0);
    while (n < 10) {
        CHECK(read(fd, &v, sizeof v) == sizeof v);
        n += v;
    }
    if (!reached(CLOCK_MONOTONIC, &until))
        __atomic_store_n(&early, 1, __ATOMIC_RELAXED);
    close(fd);
    return NULL;
}

static void *
once(void *arg)
{
    struct itimerspec it = { { 0, 0 }, { 0, 20000000 } }, cur;
    struct timespec until = after_ms(CLOCK_MONOTONIC, 20);
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t v = 0;

    (void)arg;
    CHECK(timerfd_settime(fd, 0, &it, NULL) == 0);
    SYS(read(fd, &v, sizeof v));
    printf("expiries %lu, %s\n", (unsigned long)v, reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    SYS(timerfd_gettime(fd, &cur));
    printf("left %ld %ld\n", (long)cur.it_value.tv_sec, cur.it_value.tv_nsec);
    until = after_ms(CLOCK_MONOTONIC, 20);
    CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &(struct itimerspec){ { 0, 0 }, until }, NULL) == 0);
    SYS(read(fd, &v, sizeof v));
    printf("absolute: expiries %lu, %s\n", (unsigned long)v, reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    SYS(read(fd, &v, sizeof v));
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    join(spawn(once, NULL));
    for (i = 0; i < N; i++)
        t[i] = spawn(ticks, NULL);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("periodic: %s\n", early ? "early" : "not early");
    return conform_status();
}

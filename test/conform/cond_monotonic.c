/*
 * Deadlines on CLOCK_MONOTONIC, by the attribute and by pthread_cond_clockwait: ETIMEDOUT, never early on
 * that clock; EINVAL for a clock that cannot be used.  POSIX pthread_condattr_setclock, glibc clockwait.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t mono, real = PTHREAD_COND_INITIALIZER;

static void *
body(void *arg)
{
    struct timespec ts = after_ms(CLOCK_MONOTONIC, 20);
    int e;

    pthread_mutex_lock(&m);
    while ((e = pthread_cond_timedwait(&mono, &m, &ts)) == 0)
        ;
    printf("timedwait on the monotonic clock: %s\n", errname(e));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
#if __GLIBC_PREREQ(2, 30)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    while ((e = pthread_cond_clockwait(&real, &m, CLOCK_MONOTONIC, &ts)) == 0)
        ;
    printf("clockwait monotonic: %s\n", errname(e));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
    ts = after_ms(CLOCK_REALTIME, 20);
    while ((e = pthread_cond_clockwait(&mono, &m, CLOCK_REALTIME, &ts)) == 0)
        ;
    printf("clockwait realtime: %s\n", errname(e));
    CHECK(reached(CLOCK_REALTIME, &ts));
    RC(pthread_cond_clockwait(&real, &m, CLOCK_PROCESS_CPUTIME_ID, &ts));
#endif
    pthread_mutex_unlock(&m);
    return arg;
}

int
main(void)
{
    pthread_condattr_t a;
    clockid_t clk = 99;
    int v = -1;

    OK(pthread_condattr_init(&a));
    RC(pthread_condattr_getclock(&a, &clk));
    printf("realtime %d\n", clk == CLOCK_REALTIME);
    RC(pthread_condattr_setclock(&a, CLOCK_PROCESS_CPUTIME_ID));
    RC(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
    RC(pthread_condattr_getclock(&a, &clk));
    printf("monotonic %d\n", clk == CLOCK_MONOTONIC);
    RC(pthread_condattr_getpshared(&a, &v));
    printf("private %d\n", v == PTHREAD_PROCESS_PRIVATE);
    RC(pthread_cond_init(&mono, &a));
    RC(pthread_condattr_destroy(&a));
    join(spawn(body, NULL));
    RC(pthread_cond_destroy(&mono));
    return conform_status();
}

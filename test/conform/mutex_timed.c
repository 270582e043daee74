/*
 * pthread_mutex_timedlock and clocklock: ETIMEDOUT and never early, 0 for a free mutex even with a time
 * long past, EINVAL for nanoseconds out of range when it would wait, EDEADLK and recursion for the
 * owner, success when the holder unlocks.  POSIX pthread_mutex_timedlock.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t rec = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *
waits(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20), past = after_ms(CLOCK_REALTIME, -5000), bad = ts;

    RC(pthread_mutex_timedlock(&m, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    RC(pthread_mutex_timedlock(&m, &past));
    bad.tv_nsec = 1000000000;
    RC(pthread_mutex_timedlock(&m, &bad));
    bad.tv_nsec = -1;
    RC(pthread_mutex_timedlock(&m, &bad));
    RC(pthread_mutex_timedlock(&check, &past));
    RC(pthread_mutex_timedlock(&rec, &past));
#if __GLIBC_PREREQ(2, 30)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    RC(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
    ts = after_ms(CLOCK_REALTIME, 20);
    RC(pthread_mutex_clocklock(&m, CLOCK_REALTIME, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    RC(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &ts));
#endif
    return arg;
}

static void *
gets(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 60000);

    *(int *)arg = pthread_mutex_timedlock(&m, &ts);
    pthread_mutex_unlock(&m);
    return NULL;
}

int
main(void)
{
    struct timespec past = after_ms(CLOCK_REALTIME, -5000), later = after_ms(CLOCK_REALTIME, 60000);
    pthread_t t;
    int e = -1;

    RC(pthread_mutex_timedlock(&m, &past));
    RC(pthread_mutex_timedlock(&check, &later));
    RC(pthread_mutex_timedlock(&check, &later));
    RC(pthread_mutex_timedlock(&rec, &past));
    RC(pthread_mutex_timedlock(&rec, &past));
    join(spawn(waits, NULL));
    t = spawn(gets, &e);
    msleep(10);
    RC(pthread_mutex_unlock(&m));
    join(t);
    printf("waiter: %s\n", errname(e));
    return conform_status();
}

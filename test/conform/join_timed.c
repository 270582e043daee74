/*
 * pthread_timedjoin_np and pthread_clockjoin_np: ETIMEDOUT, never early; success with the value;
 * the thread can still be joined after a time-out.  glibc manual, "Waiting with Explicit Clocks".
 */
#include "conform.h"

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static void *
body(void *arg)
{
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    return arg;
}

int
main(void)
{
    struct timespec ts;
    pthread_t t;
    void *ret = NULL;

    pthread_mutex_lock(&hold);
    t = spawn(body, (void *)5);
    ts = after_ms(CLOCK_REALTIME, 20);
    RC(pthread_timedjoin_np(t, &ret, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    ts = after_ms(CLOCK_REALTIME, -1000);
    RC(pthread_timedjoin_np(t, &ret, &ts));
#if __GLIBC_PREREQ(2, 31)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    RC(pthread_clockjoin_np(t, &ret, CLOCK_MONOTONIC, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
#endif
    printf("value untouched: %ld\n", (long)(intptr_t)ret);
    pthread_mutex_unlock(&hold);
    ts = after_ms(CLOCK_REALTIME, 60000);
    RC(pthread_timedjoin_np(t, &ret, &ts));
    printf("value %ld\n", (long)(intptr_t)ret);
#if __GLIBC_PREREQ(2, 31)
    t = spawn(body, (void *)6);
    ts = after_ms(CLOCK_MONOTONIC, 60000);
    RC(pthread_clockjoin_np(t, &ret, CLOCK_MONOTONIC, &ts));
    printf("value %ld\n", (long)(intptr_t)ret);
#endif
    return conform_status();
}

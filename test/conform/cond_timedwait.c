/*
 * pthread_cond_timedwait: ETIMEDOUT and never early, at once for a time past, EINVAL for nanoseconds out of
 * range; the mutex is held again in each case; 0 when signalled in time.  POSIX pthread_cond_timedwait.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;

static int
wait_until(struct timespec ts)
{
    int e;

    do
        e = pthread_cond_timedwait(&c, &m, &ts);
    while (e == 0 && !ready);
    if (e == ETIMEDOUT)
        CHECK(reached(CLOCK_REALTIME, &ts));
    return e;
}

static void *
body(void *arg)
{
    struct timespec bad = after_ms(CLOCK_REALTIME, 1000);

    OK(pthread_mutex_lock(&m));
    RC(wait_until(after_ms(CLOCK_REALTIME, 20)));
    RC(pthread_mutex_lock(&m));
    RC(wait_until(after_ms(CLOCK_REALTIME, -5000)));
    RC(pthread_mutex_lock(&m));
    bad.tv_nsec = 1000000000;
    RC(wait_until(bad));
    bad.tv_nsec = -1;
    RC(wait_until(bad));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_unlock(&m));
    start_wait();
    OK(pthread_mutex_lock(&m));
    if (!ready)
        OK(wait_until(after_ms(CLOCK_REALTIME, 60000)));
    printf("ready %d\n", ready);
    RC(pthread_mutex_unlock(&m));
    return arg;
}

int
main(void)
{
    pthread_t t;

    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    msleep(10);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    join(t);
    return conform_status();
}

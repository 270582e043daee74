/*
 * A cancellation that is already pending acts at the next cancellation point even if that would not block;
 * with cancellation disabled it stays pending; pthread_mutex_lock is no cancellation point.
 * POSIX pthread_setcancelstate.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int stage;

static void
handler(void *arg)
{
    printf("%s, canceled at stage %d\n", (char *)arg, stage);
}

static void *
body(void *arg)
{
    struct timespec zero = { 0, 0 };
    int old = -1;

    RC(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    printf("was enabled %d\n", old == PTHREAD_CANCEL_ENABLE);
    pthread_cleanup_push(handler, "handler");
    start_wait();
    start_wait();               /* by now the cancellation is pending */
    stage = 1;
    pthread_testcancel();
    nanosleep(&zero, NULL);
    stage = 2;
    RC(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    printf("was disabled %d\n", old == PTHREAD_CANCEL_DISABLE);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    sched_yield();
    stage = 3;
    nanosleep(&zero, NULL);
    stage = 4;
    pthread_cleanup_pop(0);
    return arg;
}

int
main(void)
{
    pthread_t t;

    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    RC(pthread_cancel(t));
    start_wait();
    printf("canceled %d\n", join(t) == PTHREAD_CANCELED);
    RC(pthread_setcancelstate(99, NULL));
    RC(pthread_setcanceltype(99, NULL));
    return conform_status();
}

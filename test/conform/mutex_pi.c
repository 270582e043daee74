/*
 * Priority-inheriting mutexes: normal, recursive and error-checking; exclusion under contention,
 * EBUSY, EDEADLK, EPERM, ETIMEDOUT.  POSIX PTHREAD_PRIO_INHERIT.
 */
#include "conform.h"

static pthread_mutex_t m, rec, check;
static volatile long count;

static void *
body(void *arg)
{
    int i;

    start_wait();
    for (i = 0; i < 500; i++) {
        pthread_mutex_lock(&m);
        count++;
        if (i % 100 == 0)
            sched_yield();
        pthread_mutex_unlock(&m);
    }
    return arg;
}

static void *
elsewhere(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20);

    RC(pthread_mutex_trylock(&m));
    RC(pthread_mutex_timedlock(&m, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    RC(pthread_mutex_unlock(&check));
    RC(pthread_mutex_trylock(&rec));
    return arg;
}

static int
make(pthread_mutex_t *mp, int type)
{
    pthread_mutexattr_t a;

    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
    return pthread_mutex_init(mp, &a);
}

int
main(void)
{
    pthread_t t[8];
    int i;

    if (make(&m, PTHREAD_MUTEX_NORMAL) == ENOTSUP)
        SKIP("no priority-inheriting futex");
    RC(make(&rec, PTHREAD_MUTEX_RECURSIVE));
    RC(make(&check, PTHREAD_MUTEX_ERRORCHECK));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_lock(&rec));
    RC(pthread_mutex_lock(&rec));
    RC(pthread_mutex_lock(&check));
    RC(pthread_mutex_lock(&check));
    join(spawn(elsewhere, NULL));
    RC(pthread_mutex_unlock(&check));
    RC(pthread_mutex_unlock(&check));
    RC(pthread_mutex_unlock(&rec));
    RC(pthread_mutex_unlock(&rec));
    RC(pthread_mutex_unlock(&rec));
    RC(pthread_mutex_unlock(&m));
    start_init(8);
    for (i = 0; i < 8; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 8; i++)
        join(t[i]);
    printf("count %ld\n", count);
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

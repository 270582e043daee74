/*
 * A robust mutex whose owner ends while holding it: the next locker, waiting or new, gets EOWNERDEAD;
 * after pthread_mutex_consistent it is sound; without it, ENOTRECOVERABLE.  POSIX pthread_mutex_lock.
 */
#include "conform.h"

static pthread_mutex_t m;

static void *
dies(void *arg)
{
    OK(pthread_mutex_lock(&m));
    return arg;
}

static void *
dies_later(void *arg)
{
    OK(pthread_mutex_lock(&m));
    start_wait();
    msleep(20);
    return arg;
}

static void *
waits(void *arg)
{
    start_wait();
    *(int *)arg = pthread_mutex_lock(&m);
    pthread_mutex_consistent(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int
main(void)
{
    pthread_mutexattr_t a;
    pthread_t t, u;
    int e = -1;

    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    RC(pthread_mutex_init(&m, &a));
    RC(pthread_mutex_consistent(&m));
    join(spawn(dies, NULL));
    RC(pthread_mutex_trylock(&m));
    RC(pthread_mutex_consistent(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_unlock(&m));

    start_init(2);
    t = spawn(dies_later, NULL);
    u = spawn(waits, &e);
    join(t);
    join(u);
    printf("waiter: %s\n", errname(e));

    join(spawn(dies, NULL));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_trylock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

/*
 * Reader-writer locks held before the first pthread_create are held after it: a read lock lets readers
 * in and keeps writers out, a write lock keeps all out and knows its owner (EDEADLK).  POSIX
 * pthread_rwlock_rdlock.
 */
#include "conform.h"

static pthread_rwlock_t rd = PTHREAD_RWLOCK_INITIALIZER, wr = PTHREAD_RWLOCK_INITIALIZER;

static void *
elsewhere(void *arg)
{
    RC(pthread_rwlock_trywrlock(&rd));
    RC(pthread_rwlock_rdlock(&rd));
    RC(pthread_rwlock_unlock(&rd));
    RC(pthread_rwlock_tryrdlock(&wr));
    RC(pthread_rwlock_trywrlock(&wr));
    return arg;
}

static void *
waits(void *arg)
{
    pthread_rwlock_t *l = (pthread_rwlock_t *)arg;
    int e = pthread_rwlock_wrlock(l);

    pthread_rwlock_unlock(l);
    return (void *)(intptr_t)e;
}

int
main(void)
{
    pthread_t t, u;

    RC(pthread_rwlock_rdlock(&rd));
    RC(pthread_rwlock_wrlock(&wr));
    join(spawn(elsewhere, NULL));
    RC(pthread_rwlock_wrlock(&wr));
    t = spawn(waits, &rd);
    u = spawn(waits, &wr);
    msleep(5);
    RC(pthread_rwlock_unlock(&rd));
    RC(pthread_rwlock_unlock(&wr));
    RC((int)(intptr_t)join(t));
    RC((int)(intptr_t)join(u));
    return conform_status();
}

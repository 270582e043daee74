/*
 * EDEADLK: the owner of the write lock asks for it again, for reading or writing, timed or not.
 * POSIX pthread_rwlock_wrlock (may fail), glibc does.
 */
#include "conform.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *
body(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 60000);

    RC(pthread_rwlock_wrlock(&l));
    RC(pthread_rwlock_wrlock(&l));
    RC(pthread_rwlock_rdlock(&l));
    RC(pthread_rwlock_timedwrlock(&l, &ts));
    RC(pthread_rwlock_timedrdlock(&l, &ts));
    RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_rdlock(&l));
    RC(pthread_rwlock_unlock(&l));
    return arg;
}

int
main(void)
{
    body(NULL);
    join(spawn(body, NULL));
    body(NULL);
    return conform_status();
}

/*
 * pthread_mutex_destroy: EBUSY while locked, by oneself or another thread, 0 afterwards; the memory can
 * be initialised again, as another type.  POSIX pthread_mutex_destroy, glibc's error value.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *
holds(void *arg)
{
    pthread_mutex_lock(&m);
    start_wait();
    start_wait();
    pthread_mutex_unlock(&m);
    return arg;
}

int
main(void)
{
    pthread_mutexattr_t a;
    pthread_t t;

    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_destroy(&m));
    RC(pthread_mutex_unlock(&m));
    start_init(2);
    t = spawn(holds, NULL);
    start_wait();
    RC(pthread_mutex_destroy(&m));
    start_wait();
    join(t);
    RC(pthread_mutex_destroy(&m));
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    RC(pthread_mutex_init(&m, &a));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

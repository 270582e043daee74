/*
 * A recursive mutex counts: the owner locks five times, others get EBUSY until the fifth unlock, one
 * more unlock is EPERM, and so is an unlock by another thread.  POSIX pthread_mutex_lock.
 */
#include "conform.h"

static pthread_mutex_t m;

static void *
tries(void *arg)
{
    int *e = (int *)arg;

    e[0] = pthread_mutex_unlock(&m);
    e[1] = pthread_mutex_trylock(&m);
    if (e[1] == 0)
        pthread_mutex_unlock(&m);
    return NULL;
}

static void
elsewhere(void)
{
    int e[2];

    join(spawn(tries, e));
    printf("elsewhere: unlock %s, trylock %s\n", errname(e[0]), errname(e[1]));
}

int
main(void)
{
    pthread_mutexattr_t a;
    int i;

    OK(pthread_mutexattr_init(&a));
    RC(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
    RC(pthread_mutex_init(&m, &a));
    elsewhere();
    for (i = 0; i < 4; i++)
        RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_trylock(&m));
    elsewhere();
    for (i = 0; i < 4; i++)
        RC(pthread_mutex_unlock(&m));
    elsewhere();
    RC(pthread_mutex_unlock(&m));
    elsewhere();
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

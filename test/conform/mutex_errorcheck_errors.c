/*
 * An error-checking mutex: EDEADLK for a second lock by the owner, EBUSY for its trylock, EPERM for an
 * unlock by one who does not own it or of an unlocked mutex.  POSIX pthread_mutex_lock.
 */
#include "conform.h"

static pthread_mutex_t m;

static void *
elsewhere(void *arg)
{
    int *e = (int *)arg;

    e[0] = pthread_mutex_unlock(&m);
    e[1] = pthread_mutex_trylock(&m);
    return NULL;
}

int
main(void)
{
    pthread_mutexattr_t a;
    int e[2];

    OK(pthread_mutexattr_init(&a));
    RC(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    RC(pthread_mutex_init(&m, &a));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_trylock(&m));
    join(spawn(elsewhere, e));
    printf("elsewhere: unlock %s, trylock %s\n", errname(e[0]), errname(e[1]));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

/*
 * A normal mutex: trylock EBUSY while it is held, by the owner too; lock waits for the unlock; unlock
 * by another thread than the owner works (glibc); init and destroy.  POSIX pthread_mutex_lock.
 */
#include "conform.h"

static pthread_mutex_t m;
static int inside;

static void *
tries(void *arg)
{
    *(int *)arg = pthread_mutex_trylock(&m);
    return NULL;
}

static void *
locks(void *arg)
{
    pthread_mutex_lock(&m);
    *(int *)arg = inside;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *
unlocks(void *arg)
{
    *(int *)arg = pthread_mutex_unlock(&m);
    return NULL;
}

int
main(void)
{
    int e = -1, seen = -1;
    pthread_t t;

    RC(pthread_mutex_init(&m, NULL));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_trylock(&m));
    join(spawn(tries, &e));
    printf("trylock elsewhere: %s\n", errname(e));
    t = spawn(locks, &seen);
    msleep(10);
    inside = 1;
    RC(pthread_mutex_unlock(&m));
    join(t);
    printf("the waiter came after the unlock: %d\n", seen);
    RC(pthread_mutex_trylock(&m));
    join(spawn(unlocks, &e));
    printf("unlock elsewhere: %s\n", errname(e));
    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

/*
 * A reader-writer lock: readers share, a writer excludes (EBUSY for try), unlock by each in turn;
 * destroy and static initialisers.  POSIX pthread_rwlock_rdlock, _wrlock.
 */
#include "conform.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *
tries(void *arg)
{
    int *e = (int *)arg;

    e[0] = pthread_rwlock_tryrdlock(&l);
    if (e[0] == 0)
        pthread_rwlock_unlock(&l);
    e[1] = pthread_rwlock_trywrlock(&l);
    if (e[1] == 0)
        pthread_rwlock_unlock(&l);
    return NULL;
}

static void
elsewhere(void)
{
    int e[2];

    join(spawn(tries, e));
    printf("elsewhere: tryrdlock %s, trywrlock %s\n", errname(e[0]), errname(e[1]));
}

int
main(void)
{
    elsewhere();
    RC(pthread_rwlock_rdlock(&l));
    elsewhere();
    RC(pthread_rwlock_rdlock(&l));
    RC(pthread_rwlock_trywrlock(&l));
    RC(pthread_rwlock_unlock(&l));
    elsewhere();
    RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_wrlock(&l));
    RC(pthread_rwlock_tryrdlock(&l));
    RC(pthread_rwlock_trywrlock(&l));
    elsewhere();
    RC(pthread_rwlock_unlock(&l));
    elsewhere();
    RC(pthread_rwlock_destroy(&l));
    RC(pthread_rwlock_init(&l, NULL));
    RC(pthread_rwlock_trywrlock(&l));
    RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_destroy(&l));
    return conform_status();
}

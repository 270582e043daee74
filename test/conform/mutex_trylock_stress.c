/*
 * Threads that only ever trylock (with sched_yield between) beside threads that lock: every success
 * excludes, each reaches its count.  POSIX pthread_mutex_trylock.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;

static void *
tries(void *arg)
{
    int got = 0, e;
    intptr_t odd = 0;

    (void)arg;
    start_wait();
    while (got < 2000) {
        e = pthread_mutex_trylock(&m);
        if (e == 0) {
            count++;
            got++;
            pthread_mutex_unlock(&m);
        } else {
            odd += e != EBUSY;
            sched_yield();
        }
    }
    return (void *)odd;
}

static void *
locks(void *arg)
{
    int i;

    start_wait();
    for (i = 0; i < 2000; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int
main(void)
{
    pthread_t t[8];
    intptr_t odd = 0;
    int i;

    start_init(8);
    for (i = 0; i < 8; i++)
        t[i] = spawn(i % 2 ? tries : locks, NULL);
    for (i = 0; i < 8; i++)
        odd += (intptr_t)join(t[i]);
    printf("count %ld, other errors %ld\n", count, (long)odd);
    return conform_status();
}

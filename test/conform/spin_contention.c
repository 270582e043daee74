/*
 * Spin locks: EBUSY for trylock, and eight threads count right though the holder may lose its processor
 * (it yields inside now and then).  POSIX pthread_spin_lock.
 */
#include "conform.h"

static pthread_spinlock_t l;
static volatile long count;

static void *
tries(void *arg)
{
    *(int *)arg = pthread_spin_trylock(&l);
    return NULL;
}

static void *
body(void *arg)
{
    int i;

    start_wait();
    for (i = 0; i < 2000; i++) {
        pthread_spin_lock(&l);
        count++;
        if (i % 500 == 0)
            sched_yield();
        pthread_spin_unlock(&l);
    }
    return arg;
}

int
main(void)
{
    pthread_t t[8];
    int i, e = -1;

    RC(pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE));
    RC(pthread_spin_lock(&l));
    RC(pthread_spin_trylock(&l));
    join(spawn(tries, &e));
    printf("elsewhere: %s\n", errname(e));
    RC(pthread_spin_unlock(&l));
    RC(pthread_spin_trylock(&l));
    RC(pthread_spin_unlock(&l));
    start_init(8);
    for (i = 0; i < 8; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 8; i++)
        join(t[i]);
    printf("count %ld\n", count);
    RC(pthread_spin_destroy(&l));
    return conform_status();
}

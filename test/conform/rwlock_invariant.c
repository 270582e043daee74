/*
 * Twenty readers and five writers, for each kind: readers never see a half-made change, writers are
 * alone, nothing is lost.  POSIX pthread_rwlock_rdlock.
 */
#include "conform.h"

#define READERS 20
#define WRITERS 5

static pthread_rwlock_t l;
static volatile long x, y;
static int readers_in;

static void *
reads(void *arg)
{
    intptr_t bad = 0;
    int i;

    (void)arg;
    start_wait();
    for (i = 0; i < 500; i++) {
        pthread_rwlock_rdlock(&l);
        __atomic_add_fetch(&readers_in, 1, __ATOMIC_SEQ_CST);
        bad += x != y;
        if (i % 50 == 0)
            sched_yield();
        bad += x != y;
        __atomic_sub_fetch(&readers_in, 1, __ATOMIC_SEQ_CST);
        pthread_rwlock_unlock(&l);
    }
    return (void *)bad;
}

static void *
writes(void *arg)
{
    intptr_t bad = 0;
    int i;

    (void)arg;
    start_wait();
    for (i = 0; i < 200; i++) {
        pthread_rwlock_wrlock(&l);
        bad += __atomic_load_n(&readers_in, __ATOMIC_SEQ_CST) != 0;
        x++;
        if (i % 20 == 0)
            sched_yield();
        y++;
        bad += x != y;
        pthread_rwlock_unlock(&l);
    }
    return (void *)bad;
}

int
main(void)
{
    static const int kind[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
    pthread_t t[READERS + WRITERS];
    pthread_rwlockattr_t a;
    intptr_t bad = 0;
    int i, k;

    OK(pthread_rwlockattr_init(&a));
    start_init(READERS + WRITERS);
    for (k = 0; k < 2; k++) {
        OK(pthread_rwlockattr_setkind_np(&a, kind[k]));
        OK(pthread_rwlock_init(&l, &a));
        for (i = 0; i < READERS + WRITERS; i++)
            t[i] = spawn(i < READERS ? reads : writes, NULL);
        for (i = 0; i < READERS + WRITERS; i++)
            bad += (intptr_t)join(t[i]);
        OK(pthread_rwlock_destroy(&l));
    }
    printf("x %ld, y %ld, violations %ld\n", x, y, (long)bad);
    return conform_status();
}

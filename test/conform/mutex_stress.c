/*
 * Sixteen threads increment under one mutex of each type, some holding it over a yield or a short
 * sleep; no increment is lost and never are two inside.  POSIX pthread_mutex_lock.
 */
#include "conform.h"

#define N 16
#define ROUNDS 2000

static pthread_mutex_t m[4] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
};
static struct { volatile long count; volatile int in; } s[4];

static void *
body(void *arg)
{
    intptr_t me = (intptr_t)arg, bad = 0;
    int i, k;

    start_wait();
    for (i = 0; i < ROUNDS; i++) {
        k = (int)(i + me) % 4;
        bad += pthread_mutex_lock(&m[k]) != 0;
        bad += s[k].in++ != 0;
        s[k].count++;
        if (i % 100 == 0)
            sched_yield();
        if (i % 1000 == 999)
            msleep(1);
        s[k].in--;
        bad += pthread_mutex_unlock(&m[k]) != 0;
    }
    return (void *)bad;
}

int
main(void)
{
    pthread_t t[N];
    intptr_t i, bad = 0;

    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)i);
    for (i = 0; i < N; i++)
        bad += (intptr_t)join(t[i]);
    for (i = 0; i < 4; i++)
        printf("mutex %ld: %ld\n", (long)i, s[i].count);
    printf("violations %ld\n", (long)bad);
    return conform_status();
}

/*
 * A thousand threads alive at once, each with its own argument; every one is joined and gives
 * back its own value.  POSIX pthread_create.
 */
#include "conform.h"

#define N 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int alive;

static void *
body(void *arg)
{
    pthread_mutex_lock(&lock);
    if (++alive == N)
        pthread_cond_broadcast(&all);
    while (alive < N)
        pthread_cond_wait(&all, &lock);
    pthread_mutex_unlock(&lock);
    return (void *)((intptr_t)arg * 3);
}

int
main(void)
{
    static pthread_t t[N];
    long sum = 0;
    int i, wrong = 0;

    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)i);
    for (i = 0; i < N; i++) {
        long v = (long)(intptr_t)join(t[i]);

        wrong += v != 3L * i;
        sum += v;
    }
    printf("alive at once %d, sum %ld, wrong %d\n", alive, sum, wrong);
    return conform_status();
}

/*
 * A broadcast wakes all of 200 waiters, with and without the mutex held; twenty rounds.
 * POSIX pthread_cond_broadcast.
 */
#include "conform.h"

#define N 200
#define ROUNDS 20

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;
static int gen, waiting, total;

static void *
body(void *arg)
{
    int r;

    for (r = 0; r < ROUNDS; r++) {
        pthread_mutex_lock(&m);
        if (++waiting == N)
            pthread_cond_signal(&all);
        while (gen <= r)
            pthread_cond_wait(&c, &m);
        total++;
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int
main(void)
{
    static pthread_t t[N];
    int i, r;

    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    for (r = 0; r < ROUNDS; r++) {
        pthread_mutex_lock(&m);
        while (waiting < N)
            pthread_cond_wait(&all, &m);
        waiting = 0;
        gen++;
        if (r % 2)
            pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
        if (r % 2 == 0)
            pthread_cond_broadcast(&c);
    }
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("woken %d\n", total);
    return conform_status();
}

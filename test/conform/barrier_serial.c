/*
 * A barrier of eight over a hundred rounds: exactly one serial thread in each, and nobody is ahead or
 * behind.  POSIX pthread_barrier_wait.
 */
#include "conform.h"

#define N 8
#define ROUNDS 100

static pthread_barrier_t b;
static int serial[ROUNDS], arrived[ROUNDS], bad;

static void *
body(void *arg)
{
    int r, e;

    for (r = 0; r < ROUNDS; r++) {
        __atomic_add_fetch(&arrived[r], 1, __ATOMIC_SEQ_CST);
        e = pthread_barrier_wait(&b);
        if (e == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial[r], 1, __ATOMIC_SEQ_CST);
        else if (e != 0)
            __atomic_add_fetch(&bad, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&arrived[r], __ATOMIC_SEQ_CST) != N)
            __atomic_add_fetch(&bad, 1, __ATOMIC_SEQ_CST);
    }
    return arg;
}

int
main(void)
{
    pthread_t t[N];
    int i, ones = 0;

    RC(pthread_barrier_init(&b, NULL, N));
    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < N; i++)
        join(t[i]);
    for (i = 0; i < ROUNDS; i++)
        ones += serial[i] == 1;
    printf("rounds with one serial thread %d, violations %d\n", ones, bad);
    RC(pthread_barrier_destroy(&b));
    return conform_status();
}

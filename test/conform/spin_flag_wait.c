/*
 * Four threads spin on plain flags, without any call, until the next in the chain sets them: the one that
 * must run next has to get a processor though all are taken by spinners.  No POSIX rule but progress.
 */
#include "conform.h"

#define N 4

static int turn;

static void *
body(void *arg)
{
    int me = (int)(intptr_t)arg, i;

    for (i = 0; i < 3; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i * N + me)
            ;
        __atomic_store_n(&turn, i * N + me + 1, __ATOMIC_RELEASE);
    }
    return arg;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)(N - 1 - i));
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("turns %d\n", turn);
    return conform_status();
}

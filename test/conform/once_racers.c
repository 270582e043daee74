/*
 * pthread_once: of 64 racers one runs the routine, and no one returns before it is complete.
 * Fifty rounds.  POSIX pthread_once.
 */
#include "conform.h"

#define N 64
#define ROUNDS 50

static pthread_once_t once[ROUNDS];
static int calls, value[ROUNDS], round_now;

static void
routine(void)
{
    int r = round_now;

    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (r % 10 == 0)
        msleep(2);
    else
        sched_yield();
    value[r] = r + 1;
}

static void *
body(void *arg)
{
    intptr_t bad = 0;
    int r;

    (void)arg;
    for (r = 0; r < ROUNDS; r++) {
        if (pthread_barrier_wait(&start_barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            round_now = r;
        pthread_barrier_wait(&start_barrier);
        bad += pthread_once(&once[r], routine) != 0;
        bad += value[r] != r + 1;
    }
    return (void *)bad;
}

int
main(void)
{
    static const pthread_once_t init = PTHREAD_ONCE_INIT;
    pthread_t t[N];
    intptr_t bad = 0;
    int i;

    for (i = 0; i < ROUNDS; i++)
        once[i] = init;
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < N; i++)
        bad += (intptr_t)join(t[i]);
    printf("calls %d in %d rounds, incomplete seen %ld\n", calls, ROUNDS, (long)bad);
    return conform_status();
}

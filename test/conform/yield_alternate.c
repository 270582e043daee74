/*
 * Threads that only sched_yield while they wait let each other go on, on one CPU or processor too:
 * two take turns 1,000 times, and a spinner does not keep a computing thread from its end.
 * POSIX sched_yield.
 */
#include "conform.h"
#include <sched.h>

enum { TURNS = 1000 };

static int turn, done;
static long taken[2];
static uint32_t sum;

static void *
player(void *arg)
{
    int me = (int)(intptr_t)arg, i;

    for (i = 0; i < TURNS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != me)
            CHECK(sched_yield() == 0);
        taken[me]++;
        __atomic_store_n(&turn, !me, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void *
spinner(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        sched_yield();
    return NULL;
}

static void *
worker(void *arg)
{
    uint32_t x = 1;
    int i;

    (void)arg;
    for (i = 0; i < 2000000; i++)
        sum += x = x * 1664525 + 1013904223;
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

int
main(void)
{
    pthread_t a, b;

    a = spawn(player, (void *)0);
    b = spawn(player, (void *)1);
    join(a);
    join(b);
    printf("turns %ld %ld\n", taken[0], taken[1]);
    a = spawn(spinner, NULL);
    b = spawn(worker, NULL);
    join(a);
    join(b);
    printf("sum %u\n", (unsigned)sum);
    return conform_status();
}

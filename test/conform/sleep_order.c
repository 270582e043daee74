/*
 * Threads that sleep to deadlines some time apart wake in the order of the deadlines, not in that of their
 * creation. On a machine that is too busy for 40 ms to tell, longer distances are tried.  POSIX
 * clock_nanosleep.
 */
#include "conform.h"

static const int slot[] = { 3, 0, 4, 1, 2 };
enum { N = sizeof slot / sizeof slot[0] };
static struct timespec deadline[N];
static int order[N], woken;

static void *
sleeper(void *arg)
{
    int i = (int)(intptr_t)arg;

    OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline[i], NULL));
    order[__atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED)] = i;
    return NULL;
}

/* Lets all sleep with the given distance; whether they woke in order. */
static int
inorder(int ms)
{
    pthread_t t[N];
    int i, ok = 1;

    woken = 0;
    for (i = 0; i < N; i++)
        deadline[i] = after_ms(CLOCK_MONOTONIC, ms * (i + 1));
    for (i = 0; i < N; i++)
        t[i] = spawn(sleeper, (void *)(intptr_t)slot[i]);
    for (i = 0; i < N; i++)
        join(t[i]);
    for (i = 0; i < N; i++)
        ok &= order[i] == i;
    return ok;
}

int
main(void)
{
    int ms, i;

    for (ms = 40; ms < 600 && !inorder(ms); ms *= 2)
        ;
    printf("created");
    for (i = 0; i < N; i++)
        printf(" %d", slot[i]);
    printf("\nwoken");
    for (i = 0; i < N; i++)
        printf(" %d", order[i]);
    printf("\n");
    return conform_status();
}

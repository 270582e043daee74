/*
 * syscall(SYS_futex): WAIT returns 0 when woken, WAKE the number it woke; ten waiters, woken one by one, and
 * then in one go.  futex(2).
 */
#include "conform.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define N 10

static uint32_t word, other;

static long
futex(uint32_t *p, int op, uint32_t val, const void *timeout, uint32_t *p2, uint32_t val3)
{
    return syscall(SYS_futex, p, op | FUTEX_PRIVATE_FLAG, val, timeout, p2, val3);
}

static void *
body(void *arg)
{
    (void)arg;
    return (void *)futex(&word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

int
main(void)
{
    pthread_t t[N];
    long woken = 0, most = 0, r, bad = 0;
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    while (woken < N) {
        r = futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
        woken += r;
        most = r > most ? r : most;
        if (r == 0)
            sched_yield();
    }
    for (i = 0; i < N; i++)
        bad += join(t[i]) != NULL;
    printf("woken %ld, at most %ld at a time, WAIT not 0: %ld\n", woken, most, bad);

    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    for (woken = 0; woken < N; woken += r)      /* gather them all on the other word */
        if ((r = futex(&word, FUTEX_REQUEUE, 0, (void *)INT_MAX, &other, 0)) == 0)
            sched_yield();
    printf("left %ld\n", futex(&word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    printf("three %ld\n", futex(&other, FUTEX_WAKE, 3, NULL, NULL, 0));
    printf("all the rest %ld\n", futex(&other, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    printf("none %ld\n", futex(&other, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    for (i = 0; i < N; i++)
        bad += join(t[i]) != NULL;
    printf("WAIT not 0: %ld\n", bad);
    return conform_status();
}

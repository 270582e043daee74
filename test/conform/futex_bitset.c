/*
 * FUTEX_WAIT_BITSET and WAKE_BITSET: only waiters whose bits meet are woken, a plain WAKE wakes any, absolute
 * deadlines on either clock.  futex(2).
 */
#include "conform.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define N 8

static uint32_t word, other;

static long
futex(uint32_t *p, int op, uint32_t val, const void *timeout, uint32_t *p2, uint32_t val3)
{
    return syscall(SYS_futex, p, op | FUTEX_PRIVATE_FLAG, val, timeout, p2, val3);
}

static void *
body(void *arg)
{
    return (void *)futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, (uint32_t)(uintptr_t)arg);
}

int
main(void)
{
    struct timespec ts;
    pthread_t t[N];
    long n = 0, r, bad = 0;
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(uintptr_t)(1u << i));
    for (; n < N; n += r)
        if ((r = futex(&word, FUTEX_REQUEUE, 0, (void *)INT_MAX, &other, 0)) == 0)
            sched_yield();
    printf("no such bit %ld\n", futex(&other, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 0x100));
    printf("bits 0 and 3 %ld\n", futex(&other, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 0x9));
    printf("again %ld\n", futex(&other, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 0x9));
    bad += join(t[0]) != NULL;
    bad += join(t[3]) != NULL;
    printf("any one of bits 4 to 7 %ld\n", futex(&other, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0xf0));
    printf("two of any %ld\n", futex(&other, FUTEX_WAKE, 2, NULL, NULL, 0));
    printf("the rest %ld\n", futex(&other, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, FUTEX_BITSET_MATCH_ANY));
    for (i = 0; i < N; i++)
        if (i != 0 && i != 3)
            bad += join(t[i]) != NULL;
    printf("WAIT not 0: %ld\n", bad);
    SYS(futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0));
    SYS(futex(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
    ts = after_ms(CLOCK_MONOTONIC, 20);
    SYS(futex(&word, FUTEX_WAIT_BITSET, 0, &ts, NULL, 1));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
    ts = after_ms(CLOCK_REALTIME, 20);
    SYS(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &ts, NULL, 1));
    CHECK(reached(CLOCK_REALTIME, &ts));
    ts = after_ms(CLOCK_MONOTONIC, -20);
    SYS(futex(&word, FUTEX_WAIT_BITSET, 0, &ts, NULL, 1));
    return conform_status();
}

/*
 * Drepper's three-state lock on raw futexes, as language runtimes build theirs: twelve threads lose no
 * increment.  futex(2), "Futexes Are Tricky".
 */
#include "conform.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t l;
static volatile long count;

static void
lock(void)
{
    uint32_t c = 0;

    if (__atomic_compare_exchange_n(&l, &c, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    if (c != 2)
        c = __atomic_exchange_n(&l, 2, __ATOMIC_ACQUIRE);
    while (c != 0) {
        syscall(SYS_futex, &l, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        c = __atomic_exchange_n(&l, 2, __ATOMIC_ACQUIRE);
    }
}

static void
unlock(void)
{
    if (__atomic_exchange_n(&l, 0, __ATOMIC_RELEASE) == 2)
        syscall(SYS_futex, &l, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *
body(void *arg)
{
    int i;

    start_wait();
    for (i = 0; i < 3000; i++) {
        lock();
        count++;
        if (i % 200 == 0)
            sched_yield();
        unlock();
    }
    return arg;
}

int
main(void)
{
    pthread_t t[12];
    int i;

    start_init(12);
    for (i = 0; i < 12; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 12; i++)
        join(t[i]);
    printf("count %ld, lock %u\n", count, l);
    return conform_status();
}

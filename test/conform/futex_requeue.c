/*
 * FUTEX_REQUEUE and CMP_REQUEUE: numbers woken and moved, EAGAIN when the value has changed, order kept so that
 * the moved wait on the second word; FUTEX_WAKE_OP changes a word and wakes on both.  futex(2).
 */
#include "conform.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define N 10

static uint32_t a, b, c;

static long
futex(uint32_t *p, int op, uint32_t val, const void *val2, uint32_t *p2, uint32_t val3)
{
    return syscall(SYS_futex, p, op | FUTEX_PRIVATE_FLAG, val, val2, p2, val3);
}

static void *
body(void *arg)
{
    return (void *)futex((uint32_t *)arg, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/* n threads that wait on p: they arrive on the word "from" and are moved as they do. */
static void
gather(pthread_t *t, int n, uint32_t *from, uint32_t *p)
{
    long moved = 0, r;
    int i;

    for (i = 0; i < n; i++)
        t[i] = spawn(body, from);
    for (; moved < n; moved += r)
        if ((r = futex(from, FUTEX_REQUEUE, 0, (void *)INT_MAX, p, 0)) == 0)
            sched_yield();
}

int
main(void)
{
    pthread_t t[N];
    int i, bad = 0;

    gather(t, N, &a, &b);
    b = 5;
    SYS(futex(&b, FUTEX_CMP_REQUEUE, 1, (void *)2, &c, 4));
    SYS(futex(&b, FUTEX_CMP_REQUEUE, 1, (void *)2, &c, 5));
    SYS(futex(&c, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    SYS(futex(&b, FUTEX_REQUEUE, 2, (void *)INT_MAX, &c, 0));
    SYS(futex(&b, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    SYS(futex(&c, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    for (i = 0; i < N; i++)
        bad += join(t[i]) != NULL;
    printf("WAIT not 0: %d\n", bad);

    b = 0;
    c = 1;
    gather(t, 3, &a, &b);
    SYS(futex(&b, FUTEX_WAKE_OP, 1, (void *)1, &c, FUTEX_OP(FUTEX_OP_ADD, 4, FUTEX_OP_CMP_EQ, 7)));
    printf("c %u\n", c);
    SYS(futex(&a, FUTEX_WAKE_OP, 1, (void *)2, &b, FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_EQ, 0)));
    printf("b %u\n", b);
    SYS(futex(&b, FUTEX_WAKE, INT_MAX, NULL, NULL, 0));
    for (i = 0; i < 3; i++)
        bad += join(t[i]) != NULL;
    printf("WAIT not 0: %d\n", bad);
    return conform_status();
}

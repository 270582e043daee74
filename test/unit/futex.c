/* The program's own futex calls, beside the kernel's for the same arguments. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <limits.h>
#include <linux/futex.h>

enum { P = FUTEX_PRIVATE_FLAG };

static uint32_t word, other;

TestSuite(futex, .timeout = 20);

static long
kernel(uint32_t *addr, int op, uint32_t val, const struct timespec *ts, uint32_t *addr2, uint32_t val3)
{
    return sys6(SYS_futex, A(addr), op, val, A(ts), A(addr2), val3);
}

typedef long call(uint32_t *, int, uint32_t, const struct timespec *, uint32_t *, uint32_t);

#define count(n) ((const struct timespec *)(uintptr_t)(n))

Test(futex, which_are_ours)
{
    cr_expect(futex_ours(FUTEX_WAIT | P));
    cr_expect(futex_ours(FUTEX_WAIT_BITSET | P | FUTEX_CLOCK_REALTIME));
    cr_expect(futex_ours(FUTEX_WAKE | P));
    cr_expect(futex_ours(FUTEX_WAKE_OP | P));
    cr_expect(futex_ours(FUTEX_CMP_REQUEUE | P));
    cr_expect(!futex_ours(FUTEX_WAIT));
    cr_expect(!futex_ours(FUTEX_WAKE));
    cr_expect(!futex_ours(FUTEX_LOCK_PI | P));
    cr_expect(!futex_ours(FUTEX_WAIT_REQUEUE_PI | P));
    cr_expect(!futex_ours(FUTEX_FD | P));
}

/* Without anybody waiting: results and errors as the kernel's. */
Test(futex, like_the_kernel)
{
    static const struct timespec zero = { 0, 0 }, ms = { 0, MS }, past = { 1, 0 }, bad = { 0, 1000000000 },
                                 negative = { -1, 0 }, negnsec = { 0, -1 };
    static const struct {
        const char *what;
        int op;
        uint32_t val;
        const struct timespec *ts;
        uint32_t val3;
    } t[] = {
        { "other value", FUTEX_WAIT, 1, NULL, 0 },
        { "other value before time", FUTEX_WAIT, 1, &ms, 0 },
        { "no time", FUTEX_WAIT, 0, &zero, 0 },
        { "1 ms", FUTEX_WAIT, 0, &ms, 0 },
        { "bad nsec", FUTEX_WAIT, 0, &bad, 0 },
        { "bad nsec, other value", FUTEX_WAIT, 1, &bad, 0 },
        { "negative sec", FUTEX_WAIT, 0, &negative, 0 },
        { "negative nsec", FUTEX_WAIT, 0, &negnsec, 0 },
        { "no bits", FUTEX_WAIT_BITSET, 0, NULL, 0 },
        { "no bits, other value", FUTEX_WAIT_BITSET, 1, NULL, 0 },
        { "past", FUTEX_WAIT_BITSET, 0, &past, 1 },
        { "past, other value", FUTEX_WAIT_BITSET, 1, &past, 1 },
        { "past, real time", FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &past, 1 },
        { "bad nsec, absolute", FUTEX_WAIT_BITSET, 0, &bad, 1 },
        { "negative sec, absolute", FUTEX_WAIT_BITSET, 0, &negative, 1 },
        { "nobody", FUTEX_WAKE, 1, NULL, 0 },
        { "nobody", FUTEX_WAKE, INT_MAX, NULL, 0 },
        { "nobody", FUTEX_WAKE_BITSET, 1, NULL, 1 },
        { "no bits", FUTEX_WAKE_BITSET, 1, NULL, 0 },
        { "nobody", FUTEX_REQUEUE, 1, count(1), 0 },
        { "nobody", FUTEX_CMP_REQUEUE, 1, count(1), 0 },
        { "other value", FUTEX_CMP_REQUEUE, 1, count(1), 1 },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        int op = t[i].op | P;
        long want = kernel(&word, op, t[i].val, t[i].ts, &other, t[i].val3);
        long got = futex_call(&word, op, t[i].val, t[i].ts, &other, t[i].val3);

        cr_expect_eq(got, want, "op %d, %s: %ld, the kernel: %ld", t[i].op, t[i].what, got, want);
    }
    cr_expect_eq(futex_call((uint32_t *)((char *)&word + 1), FUTEX_WAIT | P, 0, NULL, NULL, 0), -EINVAL);
    cr_expect_eq(kernel((uint32_t *)((char *)&word + 1), FUTEX_WAIT | P, 0, NULL, NULL, 0), -EINVAL);
}

/* FUTEX_WAKE_OP changes the second word as the kernel does. */
Test(futex, wake_op)
{
    static const uint32_t values[] = { 0, 1, 7, 0x800, 0x7fffffff, 0x80000000, 0xffffffff };

    for (uint32_t code = 0; code < 1u << 8; code++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            for (uint32_t arg = 0; arg < 3; arg++) {
                uint32_t val3 = code << 24 | (arg == 0 ? 5u : arg == 1 ? 0xfffu : 0x800u) << 12 | (arg + 7);
                uint32_t a = values[i], b = values[i];
                long want, got;

                if ((code >> 4 & 8) != 0 && arg != 0)
                    continue;   /* a shift by more than 31 makes the kernel complain in its log */
                want = kernel(&word, FUTEX_WAKE_OP | P, 1, count(1), &a, val3);
                got = futex_call(&word, FUTEX_WAKE_OP | P, 1, count(1), &b, val3);
                cr_assert_eq(got, want, "%x of %x: %ld, the kernel: %ld", val3, values[i], got, want);
                cr_assert_eq(a, b, "%x of %x: %x, the kernel: %x", val3, values[i], b, a);
            }
}

static struct {
    call *fn;
    uint32_t set;
} how;

static _Atomic int asleep, awake;

static void *
sleeper(void *arg)
{
    long r;

    atomic_fetch_add(&asleep, 1);
    r = how.fn(arg, FUTEX_WAIT_BITSET | P, 0, NULL, NULL, how.set);
    atomic_fetch_add(&awake, 1);
    return (void *)r;
}

/* Calls fn for op with four waiters at word, then wakes what is left at word and at other; the three
 * results as decimal digits. */
static long
four(call *fn, int op, uint32_t val, uint32_t val2, uint32_t val3)
{
    pthread_t th[4];
    long r, left, moved;

    how.fn = fn;
    how.set = 5;
    store_rlx(&asleep, 0);
    store_rlx(&awake, 0);
    word = other = 0;
    for (int i = 0; i < 4; i++)
        th[i] = spawn(sleeper, &word);
    until(load_rlx(&asleep) == 4);
    usleep(20000);
    r = fn(&word, op | P, val, count(val2), &other, val3);
    left = fn(&word, FUTEX_WAKE | P, INT_MAX, NULL, NULL, 0);
    moved = fn(&other, FUTEX_WAKE | P, INT_MAX, NULL, NULL, 0);
    for (int i = 0; i < 4; i++)
        cr_expect_null(reap(th[i]));
    return r * 100 + left * 10 + moved;
}

#define same(op, val, val2, val3) \
    do { \
        long want = four(kernel, op, val, val2, val3), got = four(futex_call, op, val, val2, val3); \
        cr_expect_eq(got, want, #op " " #val " " #val2 " " #val3 ": %ld, the kernel: %ld", got, want); \
    } while (0)

Test(futex, wakes_like_the_kernel)
{
    same(FUTEX_WAKE, 1, 0, 0);
    same(FUTEX_WAKE, 2, 0, 0);
    same(FUTEX_WAKE, INT_MAX, 0, 0);
    same(FUTEX_WAKE, 0, 0, 0);
    same(FUTEX_WAKE_BITSET, 4, 0, 2);
    same(FUTEX_WAKE_BITSET, 3, 0, 4);
    same(FUTEX_WAKE_BITSET, 3, 0, FUTEX_BITSET_MATCH_ANY);
}

Test(futex, requeues_like_the_kernel)
{
    same(FUTEX_REQUEUE, 1, 2, 0);
    same(FUTEX_REQUEUE, 0, 3, 0);
    same(FUTEX_REQUEUE, 4, 4, 0);
    same(FUTEX_CMP_REQUEUE, 1, INT_MAX, 0);
    same(FUTEX_CMP_REQUEUE, 1, 1, 7);
    same(FUTEX_CMP_REQUEUE, 0, 0, 0);
}

Test(futex, wake_op_like_the_kernel)
{
    same(FUTEX_WAKE_OP, 2, 4, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0));
    same(FUTEX_WAKE_OP, 1, 4, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 1));
}

/* Counts that no program should pass. */
Test(futex, odd_counts_like_the_kernel)
{
    same(FUTEX_WAKE, UINT_MAX, 0, 0);
    same(FUTEX_REQUEUE, UINT_MAX, 1, 0);
    same(FUTEX_CMP_REQUEUE, 1, UINT_MAX, 0);
    same(FUTEX_WAKE_OP, 0, 1, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 1));
}

Test(futex, times)
{
    struct timespec ts = { 0, 20 * MS };
    int64_t start = nanotime();

    cr_expect_eq(futex_call(&word, FUTEX_WAIT | P, 0, &ts, NULL, 0), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    start = nanotime();
    ts = ts_of(start + 20 * MS);
    cr_expect_eq(futex_call(&word, FUTEX_WAIT_BITSET | P, 0, &ts, NULL, 1), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    start = clocknow(CLOCK_REALTIME);
    ts = ts_of(start + 20 * MS);
    cr_expect_eq(futex_call(&word, FUTEX_WAIT_BITSET | P | FUTEX_CLOCK_REALTIME, 0, &ts, NULL, 1), -ETIMEDOUT);
    cr_expect_geq(clocknow(CLOCK_REALTIME) - start, 20 * MS);
}

/* Drepper's mutex on it. */
static long counter;

static void *
increment(void *unused)
{
    _Atomic uint32_t *l = (_Atomic uint32_t *)&word;

    for (int i = 0; i < 50000; i++) {
        uint32_t c = 0;

        if (!atomic_compare_exchange_strong(l, &c, 1))
            while (atomic_exchange(l, 2) != 0)
                futex_call(&word, FUTEX_WAIT | P, 2, NULL, NULL, 0);
        counter++;
        if (atomic_exchange(l, 0) == 2)
            futex_call(&word, FUTEX_WAKE | P, 1, NULL, NULL, 0);
    }
    return unused;
}

Test(futex, mutex)
{
    pthread_t th[4];

    for (int i = 0; i < 4; i++)
        th[i] = spawn(increment, NULL);
    for (int i = 0; i < 4; i++)
        reap(th[i]);
    cr_expect_eq(counter, 4 * 50000);
}

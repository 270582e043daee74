/* syscall(SYS_futex) of private kind: what libstdc++, Rust and others wait on. Semantics and errors
 * of futex(2). Shared, priority-inheriting and robust operations are the kernel's. */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

bool
futex_ours(int op)
{
    if ((op & FUTEX_PRIVATE_FLAG) == 0)
        return false;
    switch (op & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
        return true;
    }
    return false;
}

/* The kernel counts with an int, and looks after the first one: 0 and what is negative wake one. */
static int
limit(uint32_t n)
{
    return n == 0 || n > INT_MAX ? 1 : (int)n;
}

static long
wait(uint32_t *addr, int op, uint32_t val, const struct timespec *ts, uint32_t set)
{
    clockid_t clock = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    struct g *gp = getg();
    int64_t when = 0;
    int r;

    if (set == 0)
        return -EINVAL;
    if (ts != NULL) {
        if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT) {      /* relative */
            if (ts->tv_sec < 0 || ts->tv_nsec < 0 || ts->tv_nsec >= 1000000000)
                return -EINVAL;
            when = ts->tv_sec > INT_MAX ? 0 : nanotime() + ts->tv_sec * 1000000000 + ts->tv_nsec;
        } else {
            if (ts->tv_sec < 0)
                return -EINVAL;
            r = deadline(clock, ts, &when);
            if (r == -ETIMEDOUT)        /* past: the value still comes first */
                when = 1;
            else if (r < 0)
                return r;
        }
    }
    if (gp != NULL)
        signal_begin(gp);
    do
        r = park((_Atomic uint32_t *)addr, val, when, set, WaitFutex);
    while (r == -EINTR && gp != NULL && signal_restarts(gp, when != 0));
    return r;
}

static int
oparg(uint32_t code)
{
    int arg = (int)(code << 8) >> 20;

    return (code >> 28) & FUTEX_OP_OPARG_SHIFT ? 1 << (arg & 31) : arg;
}

/* FUTEX_WAKE_OP: *addr2 op= arg; wake val at addr; if the old value compares, val2 at addr2. */
static long
wakeop(uint32_t *addr, uint32_t val, uint32_t val2, uint32_t *addr2, uint32_t code)
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)addr2;
    int arg = oparg(code), cmp = (int)(code << 20) >> 20, old;
    bool hit;
    long n;

    switch ((code >> 28) & 7) {
    case FUTEX_OP_SET: old = (int)atomic_exchange(word, (uint32_t)arg); break;
    case FUTEX_OP_ADD: old = (int)atomic_fetch_add(word, (uint32_t)arg); break;
    case FUTEX_OP_OR: old = (int)atomic_fetch_or(word, (uint32_t)arg); break;
    case FUTEX_OP_ANDN: old = (int)atomic_fetch_and(word, ~(uint32_t)arg); break;
    case FUTEX_OP_XOR: old = (int)atomic_fetch_xor(word, (uint32_t)arg); break;
    default: return -ENOSYS;
    }
    switch ((code >> 24) & 15) {
    case FUTEX_OP_CMP_EQ: hit = old == cmp; break;
    case FUTEX_OP_CMP_NE: hit = old != cmp; break;
    case FUTEX_OP_CMP_LT: hit = old < cmp; break;
    case FUTEX_OP_CMP_LE: hit = old <= cmp; break;
    case FUTEX_OP_CMP_GT: hit = old > cmp; break;
    case FUTEX_OP_CMP_GE: hit = old >= cmp; break;
    default: return -ENOSYS;
    }
    n = unpark(addr, limit(val), ~0u);
    return hit ? n + unpark(addr2, limit(val2), ~0u) : n;
}

long
futex_call(uint32_t *addr, int op, uint32_t val, const struct timespec *ts, uint32_t *addr2, uint32_t val3)
{
    uint32_t val2 = (uint32_t)(uintptr_t)ts;
    int moved, woken;

    if ((uintptr_t)addr % 4 != 0)
        return -EINVAL;
    if ((uintptr_t)addr < pagesize)     /* other bad addresses fault as any access does */
        return -EFAULT;
    if ((op & FUTEX_CLOCK_REALTIME) != 0 && (op & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)
        return -ENOSYS;
    switch (op & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return wait(addr, op, val, ts, FUTEX_BITSET_MATCH_ANY);
    case FUTEX_WAIT_BITSET:
        return wait(addr, op, val, ts, val3);
    case FUTEX_WAKE:
        return unpark(addr, limit(val), ~0u);
    case FUTEX_WAKE_BITSET:
        return val3 == 0 ? -EINVAL : unpark(addr, limit(val), val3);
    case FUTEX_REQUEUE:
        if (val > INT_MAX || val2 > INT_MAX)
            return -EINVAL;
        woken = requeue(addr, (int)val, (int)val2, addr2, NULL, 0, &moved);
        return woken < 0 ? woken : woken + moved;
    case FUTEX_CMP_REQUEUE:
        if (val > INT_MAX || val2 > INT_MAX)
            return -EINVAL;
        woken = requeue(addr, (int)val, (int)val2, addr2, (_Atomic uint32_t *)addr, val3, &moved);
        return woken < 0 ? woken : woken + moved;
    default:
        return wakeop(addr, val, val2, addr2, val3);
    }
}

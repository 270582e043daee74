/* Semaphores, in glibc's layout of sem_t: the value in the low half of a 64-bit word, the number of waiters in the
 * high half. At shared ones (all named ones) other processes wait and post as well: there we wait in the kernel, as
 * libc does, but so that signals and cancellation for the G end it; posting to them is libc's. */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#define WAITER ((uint64_t)1 << 32)

static inline _Atomic uint64_t *
dataof(sem_t *s)
{
    return (_Atomic uint64_t *)(void *)s;
}

int
sema_trywait(sem_t *s)
{
    _Atomic uint64_t *data = dataof(s);
    uint64_t d = load_rlx(data);

    while ((uint32_t)d != 0)
        if (atomic_compare_exchange_weak_explicit(data, &d, d - 1, memory_order_acquire, memory_order_relaxed))
            return 0;
    return -EAGAIN;
}

static int
sharedpark(_Atomic uint32_t *value, int64_t when)
{
    struct timespec ts = { when / 1000000000, when % 1000000000 };

    return (int)io_syscall(when != 0 ? Blocks | Timed : Blocks, SYS_futex, A(value), FUTEX_WAIT_BITSET, 0, when != 0 ? A(&ts) : 0, 0,
                           FUTEX_BITSET_MATCH_ANY);
}

int
sema_wait(sem_t *s, int64_t when, bool shared)
{
    _Atomic uint64_t *data = dataof(s);
    _Atomic uint32_t *value = (_Atomic uint32_t *)(void *)s;
    uint64_t d;
    int r;

    if (sema_trywait(s) == 0)
        return 0;
    if (getg() != NULL)
        signal_begin(getg());
    if (when < 0)
        return (int)when;
    d = atomic_fetch_add(data, WAITER) + WAITER;
    for (;;) {
        while ((uint32_t)d != 0)
            if (atomic_compare_exchange_weak_explicit(data, &d, d - 1 - WAITER, memory_order_acquire,
                                                      memory_order_relaxed))
                return 0;
        r = shared ? sharedpark(value, when) : park(value, 0, when, 1, WaitSem);
        if (r == -ETIMEDOUT || (r == -EINTR && (getg() == NULL || !signal_restarts(getg(), when != 0)))) {
            atomic_fetch_sub(data, WAITER);
            return r;
        }
        d = load_rlx(data);
    }
}

int
sema_post(sem_t *s)
{
    _Atomic uint64_t *data = dataof(s);
    uint64_t d = load_rlx(data);

    do
        if ((uint32_t)d == SEM_VALUE_MAX)
            return -EOVERFLOW;
    while (!atomic_compare_exchange_weak_explicit(data, &d, d + 1, memory_order_release, memory_order_relaxed));
    if (d >= WAITER)
        unpark(s, 1, ~0u);
    return 0;
}

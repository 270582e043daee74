/* Locks and notes for kernel threads: the runtime's own mutual exclusion.
 *
 * A lock is never libc's: the runtime may be entered with any libc lock held. Critical sections are a
 * few dozen instructions, and a G that holds one is neither preempted nor moved, so a lock is a word that
 * is spun on, and its release a plain store: a futex would cost each release an atomic exchange, for
 * the rare case that the kernel has taken the CPU from the holder. In that case contenders give theirs up.
 * Notes are futexes.
 */
#include "base.h"
#include <errno.h>
#include <linux/futex.h>

long
futex_wait(_Atomic uint32_t *addr, uint32_t expect, int64_t deadline)
{
    struct timespec ts = { deadline / 1000000000, deadline % 1000000000 };

    return sys6(SYS_futex, A(addr), FUTEX_WAIT_BITSET_PRIVATE, expect, deadline ? A(&ts) : 0, 0,
                A(FUTEX_BITSET_MATCH_ANY));
}

long
futex_wake(_Atomic uint32_t *addr, int n)
{
    return sys3(SYS_futex, A(addr), FUTEX_WAKE_PRIVATE, n);
}

void
lockslow(struct lock *l)
{
    for (int i = 1;; i++) {
        uint32_t free = 0;

        if (load_rlx(&l->key) == 0 &&
            atomic_compare_exchange_weak_explicit(&l->key, &free, 1, memory_order_acquire, memory_order_relaxed))
            return;
        if (i % 64 != 0)
            cpu_pause();
        else if (i < 64 * 16)
            sys3(SYS_sched_yield, 0, 0, 0);
        else
            sys_sleep(50000);   /* a holder of lower real-time priority must run, too */
    }
}

void
noteclear(struct note *n)
{
    store_rlx(&n->key, 0);
}

void
notewakeup(struct note *n)
{
    if (atomic_exchange(&n->key, 1) == 0)
        futex_wake(&n->key, 1);
}

void
notesleep(struct note *n)
{
    while (load_acq(&n->key) == 0)
        futex_wait(&n->key, 0, 0);
}

bool
notetsleep(struct note *n, int64_t ns)
{
    int64_t deadline = nanotime() + ns;

    while (load_acq(&n->key) == 0)
        if (futex_wait(&n->key, 0, deadline) == -ETIMEDOUT)
            return load_acq(&n->key) != 0;
    return true;
}

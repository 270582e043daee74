/* Read-write locks, in glibc's pthread_rwlock_t. The state is the word __readers:
 *
 *   bit 1  a writer holds it        bit 2  somebody waits        bits 3..  number of readers
 *
 * which is what glibc means by them too (its bit 0, the phase, is dropped when we see it), so that a lock held
 * when the runtime starts is released properly. __writers counts waiting writers: with the kind
 * PREFER_WRITER_NONRECURSIVE new readers wait behind them.
 *
 * An unlock that leaves the lock free clears the waiting bit and wakes: after a writer all readers, or one
 * writer if there are none; after readers one writer, or else all readers. Who stays queued has the bit set
 * again, under the queue's lock; at least one woken thread will pass here and wake them in its turn.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

enum { Phase = 1, Writer = 2, Waiting = 4, Reader = 8 };
enum { TagR = 1, TagW = 2, All = 1 << 30 };

static inline _Atomic uint32_t *
wordof(pthread_rwlock_t *rw)
{
    return (_Atomic uint32_t *)&rw->__data.__readers;
}

static inline _Atomic uint32_t *
waitingwriters(pthread_rwlock_t *rw)
{
    return (_Atomic uint32_t *)&rw->__data.__writers;
}

static bool
preferswriter(pthread_rwlock_t *rw)
{
    return rw->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static bool
ownwriter(pthread_rwlock_t *rw, uint32_t s)
{
    return (s & Writer) != 0 && rw->__data.__cur_writer == self_tid();
}

/* Marks that somebody waits and parks. -EAGAIN: the word changed, look again. */
static int
waitfor(_Atomic uint32_t *word, uint32_t s, int64_t when, uint32_t tag)
{
    if ((s & Waiting) == 0 && !atomic_compare_exchange_strong(word, &s, s | Waiting))
        return -EAGAIN;
    return park(word, s | Waiting, when, tag, WaitRwlock);
}

int
rwlock_rdlock(pthread_rwlock_t *rw, int64_t when, bool try)
{
    _Atomic uint32_t *word = wordof(rw);

    for (;;) {
        uint32_t s = load_rlx(word);
        int r;

        if (likely((s & Writer) == 0) && (!preferswriter(rw) || load_acq(waitingwriters(rw)) == 0)) {
            if (s >= 0u - 2 * Reader)
                return -EAGAIN;
            if (atomic_compare_exchange_weak_explicit(word, &s, (s & ~(uint32_t)Phase) + Reader, memory_order_acquire,
                                                      memory_order_relaxed))
                return 0;
            continue;
        }
        if (try)
            return -EBUSY;
        if (ownwriter(rw, s))
            return -EDEADLK;
        if (when < 0)
            return (int)when;
        r = waitfor(word, s, when, TagR);
        if (r == -ETIMEDOUT)
            return r;
    }
}

/* A writer that gives up may be what readers of the writer-preferring kind wait for. Clearing the bit
 * makes those fail that are about to park; the others are woken and look again. */
static void
giveup(pthread_rwlock_t *rw)
{
    atomic_fetch_sub(waitingwriters(rw), 1);
    atomic_fetch_and(wordof(rw), ~(uint32_t)Waiting);
    unpark(wordof(rw), All, TagR | TagW);
}

int
rwlock_wrlock(pthread_rwlock_t *rw, int64_t when, bool try)
{
    _Atomic uint32_t *word = wordof(rw);
    bool counted = false;

    for (;;) {
        uint32_t s = load_rlx(word);
        int r;

        if ((s & ~(uint32_t)(Phase | Waiting)) == 0) {
            if (!atomic_compare_exchange_weak_explicit(word, &s, (s & Waiting) | Writer, memory_order_acquire,
                                                       memory_order_relaxed))
                continue;
            rw->__data.__cur_writer = self_tid();
            if (counted)
                atomic_fetch_sub(waitingwriters(rw), 1);
            return 0;
        }
        if (try)
            return -EBUSY;
        if (ownwriter(rw, s))
            return -EDEADLK;
        if (when < 0)
            return (int)when;
        if (!counted) {
            atomic_fetch_add(waitingwriters(rw), 1);
            counted = true;
        }
        r = waitfor(word, s, when, TagW);
        if (r == -ETIMEDOUT) {
            giveup(rw);
            return r;
        }
    }
}

static void
wake(pthread_rwlock_t *rw, bool writersfirst)
{
    _Atomic uint32_t *word = wordof(rw);

    if (writersfirst) {
        if (unparkleft(word, 1, TagW, TagR | TagW, word, Waiting) == 0)
            unpark(word, All, TagR);
    } else if (unparkleft(word, All, TagR, TagW, word, Waiting) == 0) {
        unparkleft(word, 1, TagW, TagR | TagW, word, Waiting);
    }
}

int
rwlock_unlock(pthread_rwlock_t *rw)
{
    _Atomic uint32_t *word = wordof(rw);
    uint32_t s = load_rlx(word);

    if (s & Writer) {
        rw->__data.__cur_writer = 0;
        rw->__data.__wrphase_futex = 0;         /* glibc's, if it locked it */
        rw->__data.__writers_futex = 0;
        s = atomic_fetch_and_explicit(word, ~(uint32_t)(Phase | Writer | Waiting), memory_order_release);
        if (s & Waiting)
            wake(rw, preferswriter(rw));
        return 0;
    }
    s = atomic_fetch_sub_explicit(word, Reader, memory_order_release);
    while (s - Reader < Reader && (s & Waiting) != 0) {
        s = atomic_load(word);
        if (s >= Reader || (s & (Waiting | Writer)) != Waiting)
            break;              /* somebody has it again, and will wake */
        if (atomic_compare_exchange_strong(word, &s, s & ~(uint32_t)Waiting)) {
            wake(rw, true);
            break;
        }
        s = Reader | Waiting;
    }
    return 0;
}

/* Barriers of one process, and once.
 *
 * A barrier's arrivals and its round are the two halves of one word, so that a thread which comes too
 * early for the next round is counted there. The queue is the same for all rounds: the tag, the parity of
 * the round, keeps the wake-up of one from waking those who are already in the next. Who is woken touches the barrier no more: the serial
 * thread may destroy it at once.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

/* glibc's struct pthread_barrier. */
struct barrier {
    _Atomic uint32_t in, round;
    uint32_t count;
};

int
barrier_wait(pthread_barrier_t *barrier)
{
    struct barrier *b = (struct barrier *)(void *)barrier;
    _Atomic uint64_t *both = (_Atomic uint64_t *)(void *)b;
    uint64_t d = load_rlx(both), next;
    uint32_t tag;
    bool last;

    do {
        last = (uint32_t)d + 1 == b->count;
        next = last ? ((d >> 32) + 1) << 32 : d + 1;
    } while (!atomic_compare_exchange_weak_explicit(both, &d, next, memory_order_acq_rel, memory_order_relaxed));
    tag = 1u << (d >> 32 & 1);
    if (last) {
        unpark(&b->round, 1 << 30, tag);
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while (park(&b->round, (uint32_t)(d >> 32), 0, tag, WaitBarrier) == -EINTR)
        ;
    return 0;
}

/* glibc's values: 0 never, 1 running, 2 done (4 and more: a forked child's generation, see below). */
enum { Never, Running, Done };

struct running {
    _Atomic uint32_t *word;
};

/* The function ended by an exception or by pthread_exit: the next caller runs it again. */
static void
abandoned(struct running *r)
{
    if (r->word != NULL) {
        store_rel(r->word, Never);
        unpark(r->word, 1 << 30, ~0u);
    }
}

int
once(int *control, void (*fn)(void))
{
    _Atomic uint32_t *word = (_Atomic uint32_t *)control;
    uint32_t s;

    unwindinit();
    while ((s = load_acq(word)) != Done) {
        /* A value of 5 and more is a run that a fork interrupted in the parent's glibc. */
        if (s == Running) {
            park(word, Running, 0, 1, WaitOnce);
        } else if (atomic_compare_exchange_strong(word, &s, Running)) {
            struct running r __attribute__((cleanup(abandoned))) = { word };

            fn();
            r.word = NULL;
            store_rel(word, Done);
            unpark(word, 1 << 30, ~0u);
        }
    }
    return 0;
}

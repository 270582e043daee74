/* base: what needs no scheduler. Nothing here parks a G; everything may be called with runtime locks
 * held, in a signal handler and before our constructor has run, unless it says otherwise. */
#ifndef GOSSAMER_BASE_H
#define GOSSAMER_BASE_H

#include "../types.h"
#include "../arch/x86_64/arch.h"
#include <time.h>

_Noreturn void throw(const char *what);         /* print.c: a broken invariant: says so and aborts */

/* Invariants, checked in builds with --enable-debug only. */
#ifdef GOSSAMER_DEBUG
#define must(x) ((x) ? (void)0 : throw("broken invariant: " #x))
#else
#define must(x) ((void)sizeof(x))
#endif

/* ---- pin.c: the running G, as far as base must know it ---- */

/* The running G; NULL on g0, on foreign threads and while passive. In initial-exec TLS. */
extern _Thread_local struct g *curg;

void deferredsignals(struct g *gp);
extern void (*signaldeliver)(struct g *gp);     /* wait/sigqueue.c */
extern void (*preemptdue)(struct g *gp);        /* sched/proc.c: yields if its slice is over */

/* Pinned, a G stays on its M: it is not preempted, and signal handlers wait. Whoever takes a runtime
 * lock is pinned: another G that wanted it would block the M that the holder needs. */
static inline void
unpin(struct g *gp)
{
    compiler_barrier();
    must(gp == NULL || gp->locks > 0);
    if (gp != NULL && --gp->locks == 0 && unlikely(gp->m->deferred | gp->sigwork))
        deferredsignals(gp);
}

static inline struct g *
pin(void)
{
    struct g *gp = curg;

    if (gp != NULL)
        gp->locks++;
    compiler_barrier();
    return gp;
}

/* g->wake protocol: true if the caller now owns the wake-up; then *parked says that gp must be made
 * ready, otherwise it is still on its way into gopark and will notice. */
static inline bool
gclaim(_Atomic uint32_t *wake, enum wake why, bool *parked)
{
    uint32_t w = load_rlx(wake);

    while (w == WakeArmed || w == WakeParked)
        if (atomic_compare_exchange_weak_explicit(wake, &w, why, memory_order_acq_rel, memory_order_relaxed)) {
            *parked = w == WakeParked;
            return true;
        }
    return false;
}

static inline void
glistpush(struct glist *l, struct g *gp)
{
    gp->schedlink = NULL;
    if (l->tail != NULL)
        l->tail->schedlink = gp;
    else
        l->head = gp;
    l->tail = gp;
    l->n++;
}

static inline struct g *
glistpop(struct glist *l)
{
    struct g *gp = l->head;

    if (gp != NULL) {
        l->head = gp->schedlink;
        if (l->head == NULL)
            l->tail = NULL;
        l->n--;
    }
    return gp;
}

/* ---- lock.c: locks and notes for kernel threads ---- */

void lockslow(struct lock *l);

static inline void
lock(struct lock *l)
{
    uint32_t free = 0;

    if (unlikely(!atomic_compare_exchange_strong_explicit(&l->key, &free, 1, memory_order_acquire,
                                                          memory_order_relaxed)))
        lockslow(l);
}

static inline bool
trylock(struct lock *l)
{
    uint32_t free = 0;

    return atomic_compare_exchange_strong_explicit(&l->key, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void
unlock(struct lock *l)
{
    store_rel(&l->key, 0);      /* pairs with the acquiring CAS of the next holder */
}

void noteclear(struct note *n);
void notewakeup(struct note *n);
void notesleep(struct note *n);
bool notetsleep(struct note *n, int64_t ns);    /* false: ns went by first */

/* Kernel futex on a private word; deadline is CLOCK_MONOTONIC ns, 0 for none. 0 or -errno. */
long futex_wait(_Atomic uint32_t *addr, uint32_t expect, int64_t deadline);
long futex_wake(_Atomic uint32_t *addr, int n);

/* ---- clock.c ---- */

int64_t nanotime(void);                         /* CLOCK_MONOTONIC, ns */
int64_t clocknow(clockid_t clock);              /* any clock, ns */
void sys_sleep(int64_t ns);                     /* the kernel thread sleeps */
extern uint64_t ticks_per_us;                   /* of cpu_ticks(); rough, for heuristics only */
void clockinit(void);

/* ---- print.c: to stderr with one write, without stdio ---- */

/* Understands %s %d %l (int64_t) %x (uint64_t) %%. */
void print(const char *fmt, ...);
size_t format(char *buf, size_t size, const char *fmt, ...);

/* ---- sysmem.c: memory and stacks ---- */

void *sysalloc(size_t size);                    /* zeroed pages, NULL when there are none; never freed */
/* A slot for `size` bytes of stack over `guard` bytes of guard and under `extra` bytes for the thread
 * block. 0, or -EAGAIN when the kernel has no room. */
int slotclass(size_t size, size_t guard, size_t extra); /* -EAGAIN: too many classes */
int slotalloc(struct slot *s, int class);
void slottrim(struct slot *s, size_t keep);     /* drops all pages but the top `keep` bytes */
void slotreset(void);                           /* in a forked child: the lock may have been held */
extern size_t pagesize;
extern bool guardregions;                       /* MADV_GUARD_INSTALL works */

#endif

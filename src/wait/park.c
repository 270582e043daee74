/* park: the user-space futex on which everything else waits.
 *
 * A hash table of queues, keyed by address. A waiter queues itself under the bucket's lock, after a last
 * look at the word it waits for, and then parks (a foreign thread blocks on a word of its own). A waker
 * takes it out under the same lock and claims it (see enum wake). A waiter that comes back for another
 * reason than WakeUnpark takes the lock before it leaves: then no waker can still be looking at it.
 *
 * That order is what makes it safe: waker: take out, claim, both under the lock. Were a waiter allowed
 * to leave on seeing that it is no longer queued, the waker might claim it in its *next* park.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>

enum { NBUCKETS = 2048 };

struct bucket {
    _Alignas(CACHELINE) struct lock lock;
    _Atomic uint32_t n;         /* waiters; written under lock, read by all */
    struct waiter *head, *tail;
};

static struct bucket buckets[NBUCKETS];

static struct bucket *
bucketof(const void *addr)
{
    uint64_t x = (uint64_t)addr >> 2;

    return &buckets[(x * 0x9e3779b97f4a7c15u) >> 53];   /* the top 11 bits */
}

static void
enqueue(struct bucket *b, struct waiter *w)
{
    w->next = NULL;
    w->prev = b->tail;
    if (b->tail != NULL)
        b->tail->next = w;
    else
        b->head = w;
    b->tail = w;
    store_rlx(&w->bucket, b);
    store_rlx(&b->n, load_rlx(&b->n) + 1);
}

static void
dequeue(struct bucket *b, struct waiter *w)
{
    if (w->prev != NULL)
        w->prev->next = w->next;
    else
        b->head = w->next;
    if (w->next != NULL)
        w->next->prev = w->prev;
    else
        b->tail = w->prev;
    store_rlx(&w->bucket, NULL);
    store_rlx(&b->n, load_rlx(&b->n) - 1);
}

bool
parkedat(const void *addr)
{
    return load_acq(&bucketof(addr)->n) != 0;
}

/* Runtime locks are only held inside the runtime, so that the G keeps its P and its M. */
static inline void
enterruntime(struct g *gp)
{
    if (gp != NULL)
        acquirem(gp);
    else
        pin();                  /* a signal handler in the middle of a system call, or foreign */
}

/* The same for wakers, which may be g0 with a P: the end of a thread wakes its joiner there. */
static inline struct m *
inwaker(struct g *gp)
{
    struct m *mp;

    if (gp != NULL)
        return acquirem(gp);
    if (pin() != NULL)
        return NULL;
    mp = curm;
    return mp != NULL && mp->curg == NULL && mp->p != NULL ? mp : NULL;
}

static inline void
leaveruntime(void)
{
    unpin(curg);
}

bool
parkbegin(struct waiter *w, const void *addr, const _Atomic uint32_t *word, uint32_t expect, uint32_t tag)
{
    struct g *gp = getg();
    struct bucket *b = bucketof(addr);
    bool same;

    enterruntime(gp);
    store_rlx(&w->addr, addr);
    w->gp = gp;
    w->wake = gp != NULL ? &gp->wake : &w->own;
    w->tag = tag;
    w->requeued = false;
    lock(&b->lock);
    same = word == NULL || load_rlx(word) == expect;
    if (same) {
        store_rlx(w->wake, WakeArmed);
        enqueue(b, w);
    }
    unlock(&b->lock);
    if (!same)
        leaveruntime();
    return same;
}

static uint32_t
foreignwait(struct waiter *w, int64_t when)
{
    uint32_t armed = WakeArmed;

    while (load_acq(w->wake) == WakeArmed)
        if (futex_wait(w->wake, WakeArmed, when) == -ETIMEDOUT) {
            atomic_compare_exchange_strong(w->wake, &armed, WakeTimeout);
            break;
        }
    return load_acq(w->wake);
}

/* Out of whichever queue it is in; requeue may move it while we look. */
static void
withdraw(struct waiter *w)
{
    bool out;

    for (;;) {
        struct bucket *b = load_acq(&w->bucket);

        if (b == NULL)          /* taken out; wait until that waker has let go of the lock */
            b = bucketof(load_rlx(&w->addr));
        lock(&b->lock);
        if (load_rlx(&w->bucket) == b)
            dequeue(b, w);
        /* Under the lock of its address's bucket nobody can be moving or claiming it. */
        out = load_rlx(&w->bucket) == NULL && b == bucketof(load_rlx(&w->addr));
        unlock(&b->lock);
        if (out)
            break;
    }
}

int
parkend(struct waiter *w, int64_t when, enum waitreason why)
{
    struct g *gp = w->gp;
    uint32_t wake;

    if (gp == NULL) {
        wake = foreignwait(w, when);
    } else {
        if (when != 0)
            timeradd(gp->m->p, &gp->timer, when);
        gp->waiton = (uintptr_t)w;
        wake = gopark(gp, why);
        if (when != 0)
            timerdel(&gp->timer);
    }
    if (unlikely(wake != WakeUnpark))
        withdraw(w);
    leaveruntime();             /* here handlers run that came during the wait */
    if (likely(wake == WakeUnpark))
        return 0;
    return wake == WakeTimeout ? -ETIMEDOUT : -EINTR;
}

int
park(_Atomic uint32_t *word, uint32_t expect, int64_t when, uint32_t tag, enum waitreason why)
{
    struct waiter w;

    w.aux = NULL;
    if (!parkbegin(&w, word, word, expect, tag))
        return -EAGAIN;
    return parkend(&w, when, why);
}

/* Bucket lock held; w was taken out. After the claim w's memory may be gone. */
static bool
claim(struct waiter *w, struct glist *list)
{
    struct g *gp = w->gp;
    _Atomic uint32_t *word = w->wake;
    bool parked;

    if (!gclaim(word, WakeUnpark, &parked))
        return false;
    if (gp == NULL)
        futex_wake(word, 1);
    else if (parked)
        glistpush(list, gp);
    return true;
}

int
unparkleft(const void *addr, int n, uint32_t mask, uint32_t leftmask, _Atomic uint32_t *word, uint32_t left)
{
    struct bucket *b = bucketof(addr);
    struct glist list = { 0 };
    struct g *me = getg();
    struct m *mp = inwaker(me);
    struct waiter *w, *next;
    int woken = 0;

    lock(&b->lock);
    for (w = b->head; w != NULL; w = next) {
        next = w->next;
        if (load_rlx(&w->addr) != addr)
            continue;
        if (woken < n && (w->tag & mask) != 0) {
            dequeue(b, w);
            woken += claim(w, &list);
        } else if (word == NULL) {
            if (woken >= n)
                break;
        } else if ((w->tag & leftmask) != 0) {
            atomic_fetch_or(word, left);
            if (woken >= n)
                break;
        }
    }
    unlock(&b->lock);
    if (mp == NULL) {
        injectglist(&list);
    } else {
        struct g *gp;

        while ((gp = glistpop(&list)) != NULL)
            ready(mp, gp);
    }
    leaveruntime();
    return woken;
}

int
unpark(const void *addr, int n, uint32_t mask)
{
    return unparkleft(addr, n, mask, 0, NULL, 0);
}

static void
lockboth(struct bucket *a, struct bucket *b)
{
    struct bucket *first = a < b ? a : b, *second = a < b ? b : a;

    lock(&first->lock);
    if (second != first)
        lock(&second->lock);
}

static void
unlockboth(struct bucket *a, struct bucket *b)
{
    unlock(&a->lock);
    if (b != a)
        unlock(&b->lock);
}

int
requeue(const void *addr, int n, int m, const void *addr2, const _Atomic uint32_t *word, uint32_t expect, int *moved)
{
    struct bucket *from = bucketof(addr), *to = bucketof(addr2);
    struct glist list = { 0 };
    struct g *me = getg();
    struct waiter *w, *next;
    int woken = 0, nmoved = 0;
    bool same;

    enterruntime(me);
    lockboth(from, to);
    same = word == NULL || load_rlx(word) == expect;
    for (w = from->head; same && w != NULL && (woken < n || nmoved < m); w = next) {
        next = w->next;
        if (load_rlx(&w->addr) != addr)
            continue;
        dequeue(from, w);
        if (woken < n) {
            woken += claim(w, &list);
        } else {
            store_rlx(&w->addr, addr2);
            w->requeued = true;
            enqueue(to, w);
            nmoved++;
            if (from == to && addr == addr2)
                break;          /* it would come round again */
        }
    }
    unlockboth(from, to);
    *moved = nmoved;
    leaveruntime();
    readylist(&list);
    return same ? woken : -EAGAIN;
}

/* The first waiter at addr and, with it, the address that it and its like are to be moved to. */
static struct waiter *
firstat(struct bucket *b, const void *addr)
{
    struct waiter *w = b->head;

    while (w != NULL && load_rlx(&w->addr) != addr)
        w = w->next;
    return w;
}

void
unparkmove(const void *addr)
{
    struct bucket *from = bucketof(addr), *to = from;
    struct glist list = { 0 };
    struct g *me = getg();
    struct waiter *w, *next;
    const void *aux;
    bool first = true;

    enterruntime(me);
    /* The target is known only under the first lock; then both have to be taken in order. */
    for (;;) {
        lockboth(from, to);
        w = firstat(from, addr);
        aux = w != NULL ? w->aux : NULL;
        if (aux == NULL || bucketof(aux) == to)
            break;
        unlockboth(from, to);
        to = bucketof(aux);
    }
    for (; w != NULL; w = next) {
        next = w->next;
        if (load_rlx(&w->addr) != addr)
            continue;
        dequeue(from, w);
        if (first || aux == NULL || w->aux != aux) {
            if (claim(w, &list))
                first = false;
        } else {
            store_rlx(&w->addr, aux);
            w->requeued = true;
            enqueue(to, w);
        }
    }
    unlockboth(from, to);
    leaveruntime();
    readylist(&list);
}

void
parkreset(void)
{
    for (int i = 0; i < NBUCKETS; i++) {
        buckets[i].head = buckets[i].tail = NULL;
        store_rlx(&buckets[i].n, 0);
        store_rlx(&buckets[i].lock.key, 0);
    }
}

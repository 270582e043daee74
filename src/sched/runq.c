/* Run queues: a lock-free ring per P, and the global queue under sched.lock.
 *
 * The ring has one producer, its owner, who alone moves the tail. Consumers (the owner and thieves) take
 * from the head by CAS. A consumer first copies the slots and then claims them; a slot is reused
 * only after the head has passed it, so a copy whose claim succeeds was good. `runnext` holds the G that
 * the running one made ready last: it runs next and inherits the rest of the time slice, which makes a
 * pair that talks to each other one unit of scheduling.
 */
#include "sched/sched.h"

/* With one P there is no thief: plain stores do. */
static inline bool
alone(void)
{
    return gomaxprocs == 1;
}

/* sched.lock held */
static void
putglobal(struct glist *q, struct glist *list)
{
    if (list->head == NULL)
        return;
    if (q->tail != NULL)
        q->tail->schedlink = list->head;
    else
        q->head = list->head;
    q->tail = list->tail;
    q->n += list->n;
    store_rel(&sched.runqsize, load_rlx(&sched.runqsize) + list->n);
}

static bool
runqputslow(struct p *pp, struct g *gp, uint32_t h, uint32_t t)
{
    struct glist batch = { 0 };
    struct g *half[RUNQSIZE / 2];
    uint32_t n = (t - h) / 2;

    for (uint32_t i = 0; i < n; i++)
        half[i] = load_rlx(&pp->runq[(h + i) % RUNQSIZE]);
    if (!atomic_compare_exchange_strong_explicit(&pp->runqhead, &h, h + n, memory_order_release,
                                                 memory_order_relaxed))
        return false;
    for (uint32_t i = 0; i < n; i++)
        glistpush(&batch, half[i]);
    glistpush(&batch, gp);
    lock(&sched.lock);
    putglobal(&sched.runq, &batch);
    unlock(&sched.lock);
    return true;
}

void
runqput(struct p *pp, struct g *gp, bool next)
{
#ifdef GOSSAMER_RANDSCHED         /* shakes out what relies on the order */
    static _Thread_local uint32_t rnd = 1;

    rnd = rnd * 1664525 + 1013904223;
    if (next && rnd >> 31)
        next = false;
#endif
    if (next) {
        if (alone()) {
            struct g *old = load_rlx(&pp->runnext);

            store_rlx(&pp->runnext, gp);
            gp = old;
        } else {
            gp = atomic_exchange_explicit(&pp->runnext, gp, memory_order_acq_rel);
        }
        if (gp == NULL)
            return;
    }
    for (;;) {
        uint32_t h = load_acq(&pp->runqhead);   /* pairs with the consumers' CAS */
        uint32_t t = load_rlx(&pp->runqtail);

        if (t - h < RUNQSIZE) {
            store_rlx(&pp->runq[t % RUNQSIZE], gp);
            store_rel(&pp->runqtail, t + 1);    /* publishes the slot; pairs with load_acq in runqgrab */
            return;
        }
        if (runqputslow(pp, gp, h, t))
            return;
    }
}

struct g *
runqget(struct p *pp, bool *inherit)
{
    struct g *next = load_rlx(&pp->runnext);

    *inherit = true;
    if (next != NULL) {
        if (alone()) {
            store_rlx(&pp->runnext, NULL);
            return next;
        }
        if (atomic_compare_exchange_strong_explicit(&pp->runnext, &next, NULL, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return next;        /* a thief may have been faster; then there is none */
    }
    *inherit = false;
    for (;;) {
        uint32_t h = load_acq(&pp->runqhead);
        uint32_t t = load_rlx(&pp->runqtail);
        struct g *gp;

        if (t == h)
            return NULL;
        gp = load_rlx(&pp->runq[h % RUNQSIZE]);
        if (alone()) {
            store_rel(&pp->runqhead, h + 1);
            return gp;
        }
        if (atomic_compare_exchange_strong_explicit(&pp->runqhead, &h, h + 1, memory_order_release,
                                                    memory_order_relaxed))
            return gp;
    }
}

/* Exact only for the owner. For others a G may move from runnext to the ring between two looks, so
 * look until the tail has not changed. */
bool
runqempty(struct p *pp)
{
    for (;;) {
        uint32_t h = load_acq(&pp->runqhead);
        uint32_t t = load_acq(&pp->runqtail);
        struct g *next = load_acq(&pp->runnext);

        if (t == load_acq(&pp->runqtail))
            return h == t && next == NULL;
    }
}

/* A thief takes runnext only from a P that has not been through its scheduler for some microseconds: otherwise
 * the G is about to run there, with its data in that CPU's cache. */
static struct g *
stealrunnext(struct p *from)
{
    struct g *next = load_acq(&from->runnext);

    if (next == NULL)
        return NULL;
    if (load_rlx(&from->status) == Prunning) {
        uint32_t tick = *(volatile uint32_t *)&from->tick;
        uint64_t until = cpu_ticks() + QUICKUS * ticks_per_us;

        while (cpu_ticks() < until)
            cpu_pause();
        if (*(volatile uint32_t *)&from->tick != tick)
            return NULL;
    }
    return atomic_compare_exchange_strong(&from->runnext, &next, NULL) ? next : NULL;
}

/* Copies up to half of from's ring behind pp's tail without publishing it; how many. */
static uint32_t
runqgrab(struct p *pp, struct p *from, uint32_t t, bool stealnext)
{
    for (;;) {
        uint32_t h = load_acq(&from->runqhead);
        uint32_t n = load_acq(&from->runqtail) - h;     /* pairs with store_rel in runqput */
        struct g *next;

        n -= n / 2;
        if (n == 0) {
            next = stealnext ? stealrunnext(from) : NULL;
            if (next == NULL)
                return 0;
            store_rlx(&pp->runq[t % RUNQSIZE], next);
            return 1;
        }
        if (n > RUNQSIZE / 2)   /* head and tail were read at different times */
            continue;
        for (uint32_t i = 0; i < n; i++)
            store_rlx(&pp->runq[(t + i) % RUNQSIZE], load_rlx(&from->runq[(h + i) % RUNQSIZE]));
        if (atomic_compare_exchange_strong_explicit(&from->runqhead, &h, h + n, memory_order_acq_rel,
                                                    memory_order_relaxed))
            return n;
    }
}

/* pp's M, whose own queue is empty: takes half of from's; one of them is returned. */
struct g *
runqsteal(struct p *pp, struct p *from, bool stealnext)
{
    uint32_t t = load_rlx(&pp->runqtail);
    uint32_t n = runqgrab(pp, from, t, stealnext);
    struct g *gp;

    if (n == 0)
        return NULL;
    gp = load_rlx(&pp->runq[(t + n - 1) % RUNQSIZE]);
    if (n > 1)
        store_rel(&pp->runqtail, t + n - 1);
    return gp;
}

void
globrunqput(struct g *gp)
{
    struct glist one = { gp, gp, 1 };

    gp->schedlink = NULL;
    globrunqputlist(&one);
}

/* Who was preempted: to the end, where any P finds it. In its P's own ring it would share that P for ever with what else is
 * there, while a G of another P is alone. */
void
globrunqputlast(struct g *gp)
{
    struct glist one = { gp, gp, 1 };

    gp->schedlink = NULL;
    putglobal(&sched.runq, &one);
}

int
globwoken(void)
{
    return *(volatile int *)&sched.woken.n;
}

/* Those that have waited go before what computes, while there are hogs: see hogs.c. */
void
globrunqputlist(struct glist *list)
{
    putglobal(unlikely(load_rlx(&hogs)) ? &sched.woken : &sched.runq, list);
}

/* The woken first; but however many there are, and for however long, one of the others has its turn when none had for 5 ms. */
static struct g *
globpop(void)
{
    enum { TURN = 5000 };       /* us */
    uint64_t now = cpu_ticks();

    if (sched.woken.head != NULL && (sched.runq.head == NULL || now - sched.lastturn < TURN * ticks_per_us))
        return glistpop(&sched.woken);
    sched.lastturn = now;
    if (sched.woken.head != NULL)
        hoglater();
    return glistpop(&sched.runq);
}

/* A fair share (or max) of the global queue: one is returned, the others go to pp's ring. A share is not one more, as it is in
 * Go: of three Gs that compute on two Ps one would go to the ring of a P that has one already, time and again.
 * runqsize becomes smaller last: who goes idle reads it without the lock, and must see each G here or there. */
struct g *
globrunqget(struct p *pp, int max)
{
    int size = load_rlx(&sched.runqsize), n = size > gomaxprocs ? size / gomaxprocs : 1, taken = 1;
    struct g *gp;

    if (size == 0)
        return NULL;
    if (max > 0 && n > max)
        n = max;
    if (n > RUNQSIZE / 2)
        n = RUNQSIZE / 2;
    gp = globpop();
    for (; taken < n; taken++) {
        /* Room: our ring was empty or nearly so; never into runqputslow, which takes sched.lock. */
        if (load_rlx(&pp->runqtail) - load_acq(&pp->runqhead) >= RUNQSIZE)
            break;
        runqput(pp, globpop(), false);
    }
    store_rel(&sched.runqsize, size - taken);
    return gp;
}

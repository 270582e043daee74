/* findrunnable: where g0 looks for the next G, and how an M goes idle.
 *
 * The order is Go's: timers that are due, now and then the global queue, the local one, the global one, the
 * network without waiting, then the other Ps' queues. An M that finds nothing gives its P back, looks once
 * more at everything for which nobody may have been woken, and sleeps: one M in the poller, with the
 * next timer as deadline, the others on their notes.
 */
#include "sched/sched.h"
#include "base/probe.h"

enum { STEALROUNDS = 4, DULL = 3, ATONCEUS = 2 };

static uint32_t
fastrand(struct m *mp)
{
    uint32_t x = mp->rnd;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return mp->rnd = x;
}

/* The M has a P: to its own queue, and wake others for what is more than one. */
static void
injectlocal(struct m *mp, struct glist *list)
{
    struct g *gp;

    while ((gp = glistpop(list)) != NULL) {
        store_rlx(&gp->status, Grunnable);
        probe1(ready, gp->goid);
        runqput(mp->p, gp, false);
    }
    atomic_thread_fence(memory_order_seq_cst);  /* queue first, then look for spinners: see idle */
    wakep();
}

/* Nonblocking look at the network; one G returned, the others queued. Where such looks find nothing time and again
 * - few connections, each of which waits for its peer - they are left out until the poller, in which this M
 * waits a moment later, finds something at once. */
static struct g *
pollnetwork(struct m *mp)
{
    struct glist list = { 0 };
    struct p *pp = mp->p;
    struct g *gp;

    if (!netpollused() || load_rlx(&sched.lastpoll) == 0 || pp->dull == DULL)
        return NULL;
    netpoll(0, &list);
    mp->count.pollwakes += (uint64_t)list.n;
    gp = glistpop(&list);
    if (gp == NULL) {
        pp->dull++;
        return NULL;
    }
    pp->dull = 0;
    if (list.n > 0)
        injectlocal(mp, &list);
    store_rlx(&gp->status, Grunnable);
    probe1(ready, gp->goid);
    return gp;
}

/* Have those who were ready when this was true last had their turn? They queue, and each turn is a tick; not all queues are
 * strictly first come, first served, so it has to be some more. */
static bool
settled(void)
{
    static _Atomic uint32_t was, queued;
    uint32_t ticks = 0, n = (uint32_t)load_rlx(&sched.runqsize);

    for (int i = 0; i < gomaxprocs; i++) {
        ticks += load_rlx(&allp[i].schedtick);
        n += load_rlx(&allp[i].runqtail) - load_rlx(&allp[i].runqhead) + (load_rlx(&allp[i].runnext) != NULL);
    }
    if (n > 0 && ticks - load_rlx(&was) < 4 * load_rlx(&queued))
        return false;
    store_rlx(&was, ticks);
    store_rlx(&queued, n);
    return true;
}

/* See event/sweep.c. */
static void
sweep(struct m *mp)
{
    struct glist list = { 0 }, lost = { 0 };

    store_rlx(&sched.sweepdue, false);
    for (int i = 0; netpoll(0, &list) && i < 1000; i++)
        ;
    mp->count.pollwakes += (uint64_t)list.n;
    if (list.n > 0)
        injectlocal(mp, &list);
    if (settled())
        netpollsweep(&lost);
    mp->count.rescued += (uint64_t)lost.n;
    if (lost.n > 0)
        injectlocal(mp, &lost);
}

static void
checktimers(struct m *mp, struct p *pp)
{
    struct glist list = { 0 };
    int64_t when = load_rlx(&pp->timers.when0), now;

    if (when == 0)
        return;
    now = nanotime();
    if (when > now)
        return;
    timersrun(pp, now, &list);
    if (list.n > 0)
        injectlocal(mp, &list);
}

static struct g *
stealwork(struct m *mp)
{
    bool inherit;

    for (int round = 0; round < STEALROUNDS; round++) {
        bool last = round == STEALROUNDS - 1;
        uint32_t start = fastrand(mp);

        for (int i = 0; i < gomaxprocs; i++) {
            struct p *from = &allp[(start + (uint32_t)i) % (uint32_t)gomaxprocs];
            struct g *gp;

            if (from == mp->p)
                continue;
            if (last) {
                checktimers(mp, from);
                if ((gp = runqget(mp->p, &inherit)) != NULL)
                    return gp;
            }
            if (load_rlx(&from->status) == Pidle)
                continue;
            if ((gp = runqsteal(mp->p, from, last)) != NULL) {
                mp->count.steals++;
                probe3(steal, gp->goid, from->id, mp->p->id);
                return gp;
            }
        }
    }
    return NULL;
}

/* Without leaving g0's P: everything that may have a G ready. */
static struct g *
lookaround(struct m *mp, bool *inherit)
{
    struct p *pp = mp->p;
    struct g *gp = NULL;

    checktimers(mp, pp);
    if (unlikely(load_rlx(&pp->scavenge))) {
        store_rlx(&pp->scavenge, false);
        gfscavenge(pp);
    }
    if (unlikely(load_rlx(&sched.sweepdue)))
        sweep(mp);
    *inherit = false;
    pp->tick++;
    if ((globalturn(pp) || load_rlx(&pp->global)) && load_rlx(&sched.runqsize) > 0) {
        bool forced = atomic_exchange(&pp->global, false);

        if (pp->tookglobal && !runqempty(pp)) {
            if (forced && unlikely(load_rlx(&hogs)))
                hoglater();     /* it waits for the end of the next slice, or half a millisecond */
        } else {
            lock(&sched.lock);
            gp = globrunqget(pp, 1);
            unlock(&sched.lock);
            pp->tookglobal = true;
            if (gp != NULL)
                return gp;
        }
    }
    pp->tookglobal = false;
    if ((gp = runqget(pp, inherit)) != NULL)
        return gp;
    if (load_rlx(&sched.runqsize) > 0) {
        lock(&sched.lock);
        gp = globrunqget(pp, 0);
        unlock(&sched.lock);
        if (gp != NULL)
            return gp;
    }
    if ((gp = pollnetwork(mp)) != NULL)
        return gp;
    if (gomaxprocs == 1)
        return NULL;
    if (!mp->spinning) {
        if (2 * load_rlx(&sched.nmspinning) >= gomaxprocs - load_rlx(&sched.npidle))
            return NULL;
        mp->spinning = true;
        atomic_fetch_add(&sched.nmspinning, 1);
    }
    return stealwork(mp);
}

/* Work in pp's queue that its own M will not take in a moment? runnext of a P whose scheduler is busy does
 * not count: a pair of Gs that wake each other would keep us awake for ever. */
static bool
haswork(struct p *pp)
{
    uint32_t tick = *(volatile uint32_t *)&pp->tick;

    if (load_acq(&pp->runqtail) != load_acq(&pp->runqhead))
        return true;
    if (load_acq(&pp->runnext) == NULL)
        return false;
    for (uint64_t until = cpu_ticks() + QUICKUS * ticks_per_us; cpu_ticks() < until;)
        cpu_pause();
    return load_acq(&pp->runnext) != NULL && *(volatile uint32_t *)&pp->tick == tick;
}

/* After the P was given back: did work appear in the meantime for which nobody was woken, because
 * we were spinning or the P looked busy? Then take a P again. */
static bool
recheck(struct m *mp)
{
    bool work = load_acq(&sched.runqsize) > 0;

    for (int i = 0; i < gomaxprocs && !work; i++)
        work = haswork(&allp[i]);
    if (!work)
        return false;
    if (!takeidlep(mp))
        return false;
    mp->spinning = true;
    atomic_fetch_add(&sched.nmspinning, 1);
    return true;
}

/* One idle M waits in the poller, until the next timer of any P. True: it has a P now, and perhaps
 * *gpp; false: it goes to sleep. */
static bool
pollidle(struct m *mp, struct g **gpp)
{
    int64_t when = timersnext(gomaxprocs, allp), until, now;
    struct glist list = { 0 };
    uint64_t start;
    bool atonce;

    if (!netpollused() && when == 0)
        return false;
    if (atomic_exchange(&sched.lastpoll, 0) == 0) {
        until = load_acq(&sched.polluntil);
        if (when != 0 && (until == 0 || until > when))
            netpollbreak();
        return false;
    }
    atomic_store(&sched.polluntil, when);
    /* A second net: who sets a timer before polluntil is stored finds 0 there and calls us back. This catches, too, the timer
     * of a G whose M goes on with another one, for which helpidle would come up to 10 ms later. */
    until = timersnext(gomaxprocs, allp);
    if (until != 0 && (when == 0 || until < when))
        atomic_store(&sched.polluntil, when = until);
    mp->blocked = true;         /* from here handlers run at once, so none is left put off */
    idlestate(mp);
    now = nanotime();
    start = cpu_ticks();
    netpoll(when == 0 ? -1 : when > now ? when - now : 0, &list);
    atonce = cpu_ticks() - start < ATONCEUS * ticks_per_us;
    mp->blocked = false;
    mp->count.pollwakes += (uint64_t)list.n;
    atomic_store(&sched.polluntil, 0);
    atomic_store(&sched.lastpoll, nanotime());
    if (!takeidlep(mp)) {
        injectglist(&list);
        return false;
    }
    *gpp = glistpop(&list);
    if (*gpp != NULL) {
        if (atonce)
            mp->p->dull = 0;
        store_rlx(&(*gpp)->status, Grunnable);
        probe1(ready, (*gpp)->goid);
        if (list.n > 0)
            injectlocal(mp, &list);
    } else {
        mp->spinning = true;
        atomic_fetch_add(&sched.nmspinning, 1);
    }
    return true;
}

/* Gives the P back and waits until there is work for another. True: has a P, and perhaps *gpp. */
static bool
idle(struct m *mp, struct g **gpp)
{
    struct p *pp = mp->p;
    bool spinning = mp->spinning;

    lock(&sched.lock);
    if (load_rlx(&sched.runqsize) > 0) {
        *gpp = globrunqget(pp, 0);
        unlock(&sched.lock);
        return true;
    }
    releasep(mp);
    pidleput(pp);
    unlock(&sched.lock);
    if (spinning) {
        mp->spinning = false;
        /* The order matters: first stop spinning, then look. Who makes work ready does it the other way
         * round (queue, then nmspinning), so one of us sees the other. */
        atomic_fetch_sub(&sched.nmspinning, 1);
    } else {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (recheck(mp))
        return true;
    if (pollidle(mp, gpp))
        return true;
    stopm(mp);
    return true;
}

/* NULL: the M is to end. */
struct g *
findrunnable(struct m *mp, bool *inherit)
{
    struct g *gp;

    for (;;) {
        if ((gp = lookaround(mp, inherit)) != NULL)
            return gp;
        *inherit = false;
        idle(mp, &gp);
        if (gp != NULL || unlikely(mp->dying))
            return gp;
    }
}

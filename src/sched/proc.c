/* The scheduler proper: gopark, goready, newproc, schedule.
 *
 * It follows Go's proc.go, with one difference. Go switches from a G to g0 and from there to the next G. Here
 * a G that parks picks its successor itself and switches straight to it; g0 is for when there is none
 * at hand. The rule that makes this safe: whoever leaves a context only notes in its M what is to be done
 * with it (m->prev, m->prevop); the context that goes on does it (prevdone), when nobody stands on the
 * left stack any more. Only then can another M run that G.
 *
 * Waking Ms. Work that appears while a P is idle needs an M to be woken, which costs microseconds, while a G that
 * parks at once after it made another one ready will run that one itself in nanoseconds. g->quick predicts
 * which of the two it will be, from what the G did the last times, as a branch predictor does. A wrong guess
 * costs at most one tick of sysmon, which looks for waiting work beside idle Ps; then the guess is mended.
 */
#include "sched/sched.h"
#include "base/probe.h"
#include <linux/membarrier.h>

struct sched sched;
struct p allp[MAXPROCS];
int gomaxprocs;
struct m m0;
int active;

/* ---- leaving and entering contexts ---- */

/* gp has parked with a signal queued or cancelled, by a sender who came too early to break its wait (he looks
 * at gp->wake after he has set the mark, we the other way round). gp may be gone from here already, and
 * even parked elsewhere; it bears being woken for nothing. */
static bool
breaksoff(struct g *gp)
{
    bool parked, point = gp->waitreason != WaitMutex && gp->waitreason != WaitRwlock &&
                         gp->waitreason != WaitBarrier && gp->waitreason != WaitOnce;

    if (!gp->sigwork && (!point || !cancelnow(gp)))
        return false;
    return gclaim(&gp->wake, WakeSignal, &parked) && parked;
}

void
prevdone(struct m *mp)
{
    struct g *gp = mp->prev;
    uint32_t armed = WakeArmed;
    enum prevop op = mp->prevop;

    mp->prevop = PrevNone;
    switch (op) {
    case PrevNone:
        return;
    case PrevPark:
        /* From here on a waker makes it ready, and its memory may be gone at any time. */
        if (atomic_compare_exchange_strong_explicit(&gp->wake, &armed, WakeParked, memory_order_acq_rel,
                                                    memory_order_acquire)) {
            if (unlikely(gp->sigwork || load_rlx(&gp->canceled)) && breaksoff(gp))
                runqput(mp->p, gp, true);
            return;
        }
        store_rlx(&gp->status, Grunnable);      /* somebody was faster: it goes on */
        runqput(mp->p, gp, true);
        return;
    case PrevYield:
        runqput(mp->p, gp, false);
        return;
    case PrevPreempt:           /* it has had its slice */
        lock(&sched.lock);
        globrunqputlast(gp);
        unlock(&sched.lock);
        atomic_thread_fence(memory_order_seq_cst);      /* as below */
        wakep();
        return;
    case PrevGlobal:            /* it has waited in the kernel, and lost its P */
        lock(&sched.lock);
        globrunqput(gp);
        unlock(&sched.lock);
        atomic_thread_fence(memory_order_seq_cst);      /* queue first, then look for spinners: see idle */
        wakep();
        if (unlikely(load_rlx(&hogs)))
            hogpreempt(1);
        return;
    case PrevCall:
        mp->prevfn(mp, gp);
        return;
    }
}

static inline void
enter(struct m *mp, struct g *gp)
{
    must(mp->p != NULL && gp->locks > 0 && load_rlx(&gp->status) != Gdead);
    must(gp->lockedm == NULL || gp->lockedm == mp);
    gp->m = mp;
    mp->curg = gp;
    gp->runs++;
    mp->count.switches++;
    store_rlx(&gp->status, Grunning);
    if (unlikely(gp->sigmask != mp->sigmask || gp->altstack.ss_sp != mp->altsp))
        kernelstate(mp, gp);
    if (unlikely(gp->cpuclock))
        cpuon(gp);
}

/* The next G of this P if it can be had without leaving the G's stack; NULL sends us to g0, which
 * looks at everything. */
static inline struct g *
schednext(struct m *mp, struct p *pp)
{
    bool inherit;
    struct g *gp;

    if (unlikely(mp->lockedg != NULL))
        return NULL;
    pp->tick++;
    if (unlikely(globalturn(pp) && load_rlx(&sched.runqsize) > 0)) {
        store_rlx(&pp->global, true);
        return NULL;
    }
    if (unlikely(load_rlx(&pp->timers.when0) != 0) && pp->tick % 8 == 0)
        return NULL;
    if (unlikely(load_rlx(&pp->preempt))) {
        struct g *next = atomic_exchange(&pp->runnext, NULL);

        store_rlx(&pp->preempt, false);
        if (next != NULL)
            runqput(pp, next, false);
        return NULL;
    }
    gp = runqget(pp, &inherit);
    if (gp == NULL)
        return NULL;
    pp->tookglobal = false;
    if (unlikely(gp->lockedm != NULL)) {
        runqput(pp, gp, true);  /* g0 hands it to its M */
        return NULL;
    }
    if (!inherit) {
        store_rlx(&pp->schedtick, load_rlx(&pp->schedtick) + 1);
        if (unlikely(load_rlx(&hogs)))
            store_rlx(&pp->slicestart, cpu_ticks());
    }
    return gp;
}

/* gp waits in a handler on its alternate stack. From there the kernel lets nobody set another one (EPERM), and the
 * next G's signals would be delivered on top of gp's frames: so the switch goes by way of g0's stack. */
static inline bool
onaltstack(const struct g *gp)
{
    return unlikely(gp->altstack.ss_sp != NULL) &&
           (uintptr_t)__builtin_frame_address(0) - (uintptr_t)gp->altstack.ss_sp < gp->altstack.ss_size;
}

/* In the runtime, as gp: goes on elsewhere; comes back, perhaps on another M, when gp is run again. */
static inline void
leave(struct m *mp, struct g *gp, enum prevop op)
{
    struct g *next;

    if (gp->wasready) {
        gp->wasready = false;
        if (cpu_ticks() - gp->readytick > QUICKUS * ticks_per_us)
            gp->quick = 0;
        else if (gp->quick < 3)
            gp->quick++;
    }
    if (op == PrevYield && unlikely(load_rlx(&mp->p->preempt))) {
        mp->count.preempted++;
        op = PrevPreempt;
    }
    gp->hogging = op == PrevPreempt || (op == PrevYield && gp->hogging);
    if (unlikely(gp->cpuclock))
        cpuoff(gp);
    mp->prev = gp;
    mp->prevop = op;
    next = unlikely(onaltstack(gp)) ? NULL : schednext(mp, mp->p);
    if (likely(next != NULL)) {
        enter(mp, next);
        context_switch(&gp->sp, next->sp, next->tp);
    } else {
        mp->curg = NULL;
        context_switch(&gp->sp, mp->g0sp, mp->g0tp);
    }
    prevdone(gp->m);
}

uint32_t
gopark(struct g *gp, enum waitreason why)
{
    struct m *mp = acquirem(gp);

    if (load_acq(&gp->wake) < WakeUnpark) {
        gp->waitreason = (uint8_t)why;
        gp->waitsince = load_rlx(&sched.now);
        store_rlx(&gp->status, Gwaiting);
        probe3(park, gp->goid, gp->waitreason, gp->waiton);
        leave(mp, gp, PrevPark);
    }
    releasem(gp);
    return load_acq(&gp->wake);
}

void
gosched(struct g *gp)
{
    struct m *mp = acquirem(gp);

    /* Alone: nothing to switch to, unless timers or the network have something. */
    if (runqempty(mp->p) && load_rlx(&sched.runqsize) == 0 && ++mp->p->tick % 16 != 0) {
        releasem(gp);
        return;
    }
    store_rlx(&gp->status, Grunnable);
    leave(mp, gp, PrevYield);
    releasem(gp);
}

void
preemptpoint(struct g *gp)
{
    struct p *pp = gp->m->p;

    if (pp != NULL && unlikely(load_rlx(&pp->preempt)) && gp->locks == 0 && !gp->nopreempt)
        gosched(gp);
}

_Noreturn void
goleave(struct g *gp, void (*fn)(struct m *, struct g *))
{
    struct m *mp = acquirem(gp);

    mp->prevfn = fn;
    leave(mp, gp, PrevCall);
    throw("a finished G was run again");
}

void
regain(struct g *gp)
{
    struct m *mp = gp->m;

    while (load_acq(&mp->lostp) == LostAsked)   /* sysmon decides in a moment */
        cpu_pause();
    if (load_acq(&mp->lostp) != LostTaken)
        return;
    store_rlx(&mp->lostp, LostNo);
    mp->p = NULL;
    if (unlikely(gp->cpuclock))
        cpuoff(gp);
    mp->prev = gp;
    mp->prevop = PrevGlobal;
    store_rlx(&gp->status, Grunnable);
    mp->curg = NULL;
    context_switch(&gp->sp, mp->g0sp, mp->g0tp);
    prevdone(gp->m);
}

/* ---- making ready ---- */

void
wakep(void)
{
    int32_t none = 0;
    struct p *pp;

    if (load_rlx(&sched.npidle) == 0 || load_rlx(&sched.nmspinning) != 0 ||
        !atomic_compare_exchange_strong(&sched.nmspinning, &none, 1))
        return;
    lock(&sched.lock);
    pp = pidleget();
    unlock(&sched.lock);
    if (pp == NULL) {
        atomic_fetch_sub(&sched.nmspinning, 1);
        return;
    }
    startm(pp, true);
}

static inline bool
parkssoon(struct g *me)
{
    if (!me->wasready) {
        me->wasready = true;
        me->readytick = cpu_ticks();
    }
    return me->quick == 3;
}

void
ready(struct m *mp, struct g *gp)
{
    struct p *pp = mp->p;

    must(pp != NULL && pp->m == mp);
    store_rlx(&gp->status, Grunnable);
    probe1(ready, gp->goid);
    if (unlikely(load_rlx(&hogs)) && load_rlx(&sched.npidle) == 0 && mp->curg != NULL && !parkssoon(mp->curg)) {
        lock(&sched.lock);
        globrunqput(gp);
        unlock(&sched.lock);
        if (mp->curg->hogging)
            hogyield(mp);
        else
            hogpreempt(1);
        return;
    }
    runqput(pp, gp, true);
    if (unlikely(load_rlx(&sched.npidle) != 0) && load_rlx(&sched.nmspinning) == 0) {
        bool more = load_rlx(&pp->runqtail) != load_rlx(&pp->runqhead);

        if (more || mp->curg == NULL || !parkssoon(mp->curg))
            wakep();
    }
}

void
goready(struct g *gp)
{
    struct glist one = { 0 };

    glistpush(&one, gp);
    readylist(&one);
}

void
readylist(struct glist *list)
{
    struct g *me, *gp;
    struct m *mp;

    if (list->head == NULL)
        return;
    me = getg();
    if (me == NULL) {
        injectglist(list);
        return;
    }
    mp = acquirem(me);
    while ((gp = glistpop(list)) != NULL)
        ready(mp, gp);
    releasem(me);
}

/* From sysmon, a foreign thread or an M without a P: to the global queue, and as many Ms as can help. */
void
injectglist(struct glist *list)
{
    int n = list->n;

    if (n == 0)
        return;
    for (struct g *gp = list->head; gp != NULL; gp = gp->schedlink) {
        store_rlx(&gp->status, Grunnable);
        probe1(ready, gp->goid);
    }
    lock(&sched.lock);
    globrunqputlist(list);
    unlock(&sched.lock);
    *list = (struct glist){ 0 };
    atomic_thread_fence(memory_order_seq_cst);  /* the same */
    for (; n > 0 && load_rlx(&sched.npidle) != 0; n--)
        startm(NULL, false);
    if (n > 0 && unlikely(load_rlx(&hogs)))
        hogpreempt(n < gomaxprocs ? n : gomaxprocs);
}

/* Ids are unique and grow on each P, as Go's. The P's M. */
int64_t
newgoid(struct p *pp)
{
    if (pp->goid == pp->goidend) {
        pp->goid = atomic_fetch_add(&sched.goidgen, 64) + 1;
        pp->goidend = pp->goid + 64;
    }
    return pp->goid++;
}

static inline void
gcount(struct p *pp, int n)
{
    store_rlx(&pp->ngs, load_rlx(&pp->ngs) + n);
}

/* gp ends: is it the last one, main gone before? Each who ends counts first and looks afterwards, so the
 * last to count sees none; the first to see that is told so. The barrier between the two is main's alone:
 * after its membarrier, whoever has not seen mainexited has its count visible. */
bool
lastg(struct g *gp)
{
    static _Atomic bool told;
    struct m *mp = acquirem(gp);
    int64_t sum = 0;

    gcount(mp->p, -1);
    releasem(gp);
    if (gp->ismain) {
        atomic_store(&sched.mainexited, true);
        sys3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    } else if (likely(!load_rlx(&sched.mainexited))) {
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < gomaxprocs; i++)
        sum += load_rlx(&allp[i].ngs);
    return sum == 0 && !atomic_exchange(&told, true);
}

void
newproc(struct g *parent, struct g *gp)
{
    struct m *mp = acquirem(parent);

    gcount(mp->p, 1);
    gp->locks = 1;              /* until it has done prevdone */
    probe3(create, gp->goid, parent->goid, gp->start);
    ready(mp, gp);
    releasem(parent);
}

/* ---- g0 ---- */

static void
resetspinning(struct m *mp)
{
    mp->spinning = false;
    atomic_fetch_sub(&sched.nmspinning, 1);
    wakep();                    /* the last spinner that finds work wakes the next */
}

/* The slice that somebody wanted to end is over, its G has been left. He may have come when we had chosen gp
 * already: then what he has queued is first. */
static bool
late(struct m *mp, struct g *gp)
{
    struct p *pp = mp->p;

    atomic_store(&pp->preempt, false);
    if (!load_rlx(&pp->global) || load_rlx(&sched.runqsize) == 0 || gp->lockedm != NULL)
        return false;
    runqput(pp, gp, false);
    return true;
}

void
schedule(struct m *mp)
{
    for (;;) {
        bool inherit = false;
        struct g *gp;

        if (unlikely(load_rlx(&masksused)) && mp->sigmask != G0MASK)
            setmask(mp, G0MASK);        /* before anybody learns that its G has ended */
        if (unlikely(load_rlx(&altstacks)))
            altoff(mp);         /* before its G can use that stack on another M */
        prevdone(mp);
        if (unlikely(mp->dying)) {
            mexit(mp);
            return;
        }
        if (mp->p == NULL && mp->lockedg == NULL) {     /* lost it, and none was free */
            stopm(mp);
            if (unlikely(mp->dying))
                continue;
        }
        if (mp->lockedg != NULL) {
            stoplockedm(mp);
            gp = mp->lockedg;
        } else {
            gp = findrunnable(mp, &inherit);
            if (unlikely(gp == NULL))
                continue;       /* dying */
            if (mp->spinning)
                resetspinning(mp);
            if (gp->lockedm != NULL && gp->lockedm != mp) {
                startlockedm(mp, gp);
                continue;
            }
        }
        if (!inherit)
            store_rlx(&mp->p->schedtick, load_rlx(&mp->p->schedtick) + 1);
        if (unlikely(load_rlx(&hogs)) && late(mp, gp))
            continue;
        store_rlx(&mp->p->slicestart, cpu_ticks());
        enter(mp, gp);
        context_switch(&mp->g0sp, gp->sp, gp->tp);
    }
}

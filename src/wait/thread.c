/* The life of a thread: create, join, detach, exit.
 *
 * A finished G is marked Finished only when nobody stands on its stack any more: its last switch leaves
 * that to the context it switches to (goleave, gone). gp->joinstate decides who gives it back.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "base/probe.h"
#include "base/real.h"
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { TIDBASE = 1 << 22, TIDS = 1 << 29 };     /* above the kernel's pid limit, below the futex owner bits */

struct g *
thread_of(pthread_t th)
{
    struct g *gp = gof(th);

    return gp != NULL && load_acq(&gp->status) != Gdead ? gp : NULL;
}

struct g *
thread_bytid(int tid)
{
    struct g *gp = load_acq(&sched.allgs);

    while (gp != NULL && (gp->tid != tid || load_rlx(&gp->status) == Gdead))
        gp = gp->alllink;
    return gp;
}

static void
reap(struct m *mp, struct g *gp)
{
    if (gp->ismain)
        store_rlx(&gp->status, Gdead);  /* its block is libc's */
    else
        gfput(mp, gp);
}

/* On the next context. The joiner may reuse gp as soon as it sees Finished: whatever is written here comes before. */
static void
gone(struct m *mp, struct g *gp)
{
    uint32_t s;

    if (load_rlx(&gp->joinstate) != Detached) {
        gp->waitreason = WaitEnded;     /* for those who look, perhaps for long */
        gp->waitsince = load_rlx(&sched.now);
        store_rel(&gp->status, Gwaiting);
    }
    s = atomic_fetch_or(&gp->joinstate, Finished);
    if (s == Detached)
        reap(mp, gp);
    else if (s == Joining)
        unpark(&gp->joinstate, 1, ~0u);
}

/* It ends while locked to its M, on account of mutexes that it still holds. */
static void
unlockall(struct g *gp)
{
    struct m *mp = gp->m;

    tlsownerdies(gp);
    tlsreturn(gp);
    if (!gp->affine) {
        while (gp->locked > 0)
            unlockOSThread(gp);
        return;
    }
    gp->affine = false;
    gp->locked = 0;
    gp->lockedm = NULL;
    mp->dying = true;           /* mp->lockedg stays: it sends us to g0 */
}

static _Noreturn void
depart(struct g *gp)
{
    probe1(exit, gp->goid);
    signal_flush(gp);
    kattr_drop(gp);
    if (unlikely(load_rlx(&masksused)))
        signal_closing(gp);
    if (unlikely(gp->locked > 0))
        unlockall(gp);
    if (unlikely(lastg(gp)))
        exit(0);                /* main called pthread_exit before, we were the last */
    goleave(gp, gone);
}

static _Noreturn void
finish(struct g *gp)
{
    tlsexit(gp);
    depart(gp);
}

/* exit(2) of the thread alone: nothing of libc's runs. */
void
thread_vanish(void)
{
    struct g *gp = curg;

    gp->retval = NULL;
    depart(gp);
}

/* It ended by unwinding out of a call of libc's: libc saw the cancellation first, or a handler in there exits. */
static void
leavecall(struct g *gp)
{
    if (likely(!gp->insys))
        return;
    if (load_rlx(&gp->canceled) && gp->retval == NULL)
        gp->retval = PTHREAD_CANCELED;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);       /* the frame that it left will not */
    exitsyscall(gp);
}

static void
gomain(void *arg)
{
    struct g *gp = arg;
    __pthread_unwind_buf_t buf;

    prevdone(gp->m);
    releasem(gp);
    tlsstart();
    /* Where pthread_exit and cancellation unwind to at last. */
    if (__sigsetjmp_cancel(buf.__cancel_jmp_buf, 0) == 0) {
        __pthread_register_cancel(&buf);
        buf.__pad[0] = NULL;    /* the outermost one: on a block used before, the old one was in the same place */
        gp->retval = gp->start(gp->arg);
    }
    /* A child that this G forked ends here too: it is no G there, and alone, or the main G of a new runtime. */
    if (unlikely(curg != gp)) {
        if (curg == NULL) {
            tlsexit(gp);
            exit(0);
        }
        finish(curg);
    }
    leavecall(gp);
    finish(gp);
}

/* Forced unwinding of the main thread ends here, on its outermost frame, whose alignment is not a call's. */
static __attribute__((force_align_arg_pointer)) void
mainfinish(void)
{
    leavecall(curg);
    finish(curg);
}

void
thread_exit(void *ret)
{
    struct g *gp = curg;

    gp->retval = ret;
    if (gp->ismain)
        tlsmainexit(mainfinish);
    real.pthread_exit(ret);
    __builtin_unreachable();
}

static int
newtid(int64_t goid)
{
    return TIDBASE + (int)(goid % TIDS);
}

/* A G of the class: a dead one made fresh, or a new one. */
static struct g *
getblock(struct g *me, int class)
{
    struct m *mp = acquirem(me);
    struct g *gp = gfget(mp, class);
    int64_t goid = newgoid(mp->p);
    struct slot slot;

    releasem(me);
    if (gp != NULL) {
        tlsrenew(gp, newtid(goid));
        gp->goid = goid;
        return gp;
    }
    if (slotalloc(&slot, class) < 0)
        return NULL;
    gp = tlsnew(&slot, newtid(goid));
    if (gp != NULL) {
        gp->timer.gp = gp;
        gp->goid = goid;
        allgadd(gp);
    }
    return gp;
}

static int
classfor(const struct newthread *nt)
{
    static _Atomic uint64_t last;       /* size << 8 | class, for the usual case */
    uint64_t l = load_rlx(&last);
    int class;

    if (nt->stackaddr == NULL && nt->guardsize == pagesize && l >> 8 == nt->stacksize)
        return (int)(l & 255);
    class = nt->stackaddr != NULL ? slotclass(0, 0, tlsextra()) : slotclass(nt->stacksize, nt->guardsize, tlsextra());
    if (class >= 0 && nt->stackaddr == NULL && nt->guardsize == pagesize)
        store_rlx(&last, nt->stacksize << 8 | (uint64_t)class);
    return class;
}

int
thread_create(pthread_t *th, const struct newthread *nt, void *(*fn)(void *), void *arg)
{
    struct g *me = curg, *gp;
    int class = classfor(nt);

    if (class < 0 || (gp = getblock(me, class)) == NULL)
        return -EAGAIN;
    gp->start = fn;
    gp->arg = arg;
    gp->retval = PTHREAD_CANCELED;      /* unless it returns or calls pthread_exit */
    gp->sigmask = me->sigmask;
    memset(&gp->altstack, 0, sizeof gp->altstack);
    gp->quick = 0;
    gp->wasready = gp->hogging = false;
    gp->runs = 0;
    gp->specused = false;
    gp->sigwork = gp->sigdead = false;
    gp->kattr = NULL;
    cpureset(gp, 0);
    gp->nopreempt = false;
    gp->urgblocked = me->urgblocked;
    gp->sigwait = 0;
    gp->showing = gp->raw = gp->masked = false;
    gp->moved = NULL;
    store_rlx(&gp->sigpend, 0);
    store_rlx(&gp->canceled, false);
    store_rlx(&gp->joining, NULL);
    memcpy(gp->name, me->name, sizeof gp->name);
    store_rlx(&gp->joinstate, nt->detached ? Detached : Joinable);
    gp->stksize = nt->stacksize;
    gp->guardsize = nt->guardsize;
    gp->ownstack = nt->stackaddr != NULL;
    if (gp->ownstack) {
        gp->stklo = nt->stackaddr;
        gp->stkhi = gp->stklo + nt->stacksize;
        tlsstack(gp);
    }
    gp->sp = context_make(gp->stkhi, gomain, gp, fp_control());
    if (unlikely(me->affine) && mclone(gp) < 0) {
        struct m *mp = acquirem(me);

        gfput(mp, gp);
        releasem(me);
        return -EAGAIN;
    }
    if (unlikely(nt->sigmask != NULL))
        signal_maskfor(gp, nt->sigmask);
    if (unlikely(nt->kattr != NULL))
        kattr_leave(gp, nt->kattr);
    *th = (pthread_t)gp->tp;
    newproc(me, gp);
    return 0;
}

static bool
circular(struct g *me, struct g *gp)
{
    return gp == me || load_acq(&gp->joining) == me;
}

/* Nobody else will touch gp: hand out its result and give it back. */
static int
collect(struct g *me, struct g *gp, void **ret)
{
    struct m *mp;

    if (ret != NULL)
        *ret = gp->retval;
    if (me == NULL) {           /* a foreign joiner has no P to keep it at: through the central list */
        store_rlx(&gp->status, Gdead);
        lock(&sched.gflock);
        gp->schedlink = sched.gfree[gp->slot.class];
        if (!gp->ismain)
            sched.gfree[gp->slot.class] = gp;
        unlock(&sched.gflock);
        return 0;
    }
    mp = acquirem(me);
    reap(mp, gp);
    releasem(me);
    return 0;
}

int
thread_join(pthread_t th, void **ret, bool try, int64_t when)
{
    struct g *me = getg(), *gp = thread_of(th);
    uint32_t s;

    if (gp == NULL)
        return -ESRCH;
    if (me != NULL && !try && circular(me, gp))
        return -EDEADLK;
    s = load_acq(&gp->joinstate);
    if (try && (s & Finished) == 0)
        return -EBUSY;
    do
        if ((s & ~(uint32_t)Finished) != Joinable)
            return -EINVAL;
    while (!atomic_compare_exchange_weak(&gp->joinstate, &s, Joining | (s & Finished)));
    if (me != NULL)
        store_rel(&me->joining, gp);
    while ((s = load_acq(&gp->joinstate)) == Joining) {
        int r = when < 0 ? (int)when : park(&gp->joinstate, Joining, when, 1, WaitJoin);

        if ((r == -ETIMEDOUT || r == -EINTR) && atomic_compare_exchange_strong(&gp->joinstate, &s, Joinable)) {
            if (me != NULL)
                store_rel(&me->joining, NULL);
            return r;
        }
    }
    if (me != NULL)
        store_rel(&me->joining, NULL);
    return collect(me, gp, ret);
}

int
thread_detach(pthread_t th)
{
    struct g *gp = thread_of(th);
    uint32_t s;

    if (gp == NULL)
        return -ESRCH;
    s = load_acq(&gp->joinstate);
    do
        if ((s & ~(uint32_t)Finished) != Joinable)
            return s == Detached ? -EINVAL : 0;
    while (!atomic_compare_exchange_weak(&gp->joinstate, &s, Detached | (s & Finished)));
    return s & Finished ? collect(getg(), gp, NULL) : 0;
}

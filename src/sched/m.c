/* Ms: starting, stopping, handing a P from one to another; Gs that are locked to their M.
 *
 * New Ms are real glibc threads, so that libc's set*id reaches them. They are started by one thread
 * that does nothing else (the template thread, see boot.c): pthread_create calls malloc, which must not
 * happen in the middle of a hook that the program's own malloc may have called; and what a G may
 * have changed in its kernel thread (affinity, namespaces) is not inherited. One idle M is always kept
 * ahead: malloc's lock may be held by a G that has to wait for an M.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/probe.h"
#include "base/real.h"
#include <errno.h>
#include <string.h>

enum { G0STACK = 256 << 10 };

int maxms = MAXMS;

/* ---- P lists and ownership ---- */

void
pidleput(struct p *pp)
{
    pp->link = sched.pidle;
    sched.pidle = pp;
    store_rlx(&pp->status, Pidle);
    atomic_fetch_add(&sched.npidle, 1);
}

struct p *
pidleget(void)
{
    struct p *pp = sched.pidle;

    if (pp != NULL) {
        sched.pidle = pp->link;
        atomic_fetch_sub(&sched.npidle, 1);
        if (unlikely(load_rlx(&sched.sysmonwait)))
            sysmonwake();
    }
    return pp;
}

void
acquirep(struct m *mp, struct p *pp)
{
    must(mp->p == NULL && pp->m == NULL);
    mp->p = pp;
    pp->m = mp;
    store_rel(&pp->status, Prunning);
}

/* An idle P for mp, if there is one. */
bool
takeidlep(struct m *mp)
{
    struct p *pp;

    lock(&sched.lock);
    pp = pidleget();
    unlock(&sched.lock);
    if (pp == NULL)
        return false;
    acquirep(mp, pp);
    return true;
}

struct p *
releasep(struct m *mp)
{
    struct p *pp = mp->p;

    mp->p = NULL;
    pp->m = NULL;
    return pp;
}

/* ---- M lists ---- */

/* sched.lock held. NULL: no memory, or the limit is reached. */
static struct m *
newmstruct(void)
{
    static struct m *chunk;     /* sched.lock */
    static int left;
    struct m *mp;

    if ((mp = sched.mdead) != NULL) {
        sched.mdead = mp->schedlink;
        return mp;
    }
    if (sched.mnext >= maxms)
        return NULL;
    if (left == 0) {
        chunk = sysalloc(16 * sizeof *chunk);
        if (chunk == NULL)
            return NULL;
        left = 16;
    }
    mp = &chunk[--left];
    mp->id = sched.mnext++;
    mp->rnd = (uint32_t)mp->id * 2654435761u + 1;
    mp->alllink = load_rlx(&sched.allms);
    store_rel(&sched.allms, mp);
    return mp;
}

/* An idle M with pp, or a new one; in the latter case it takes a while. */
void
startm(struct p *pp, bool spinning)
{
    static bool warned;         /* sched.lock */
    struct m *mp;

    lock(&sched.lock);
    if (pp == NULL && (pp = pidleget()) == NULL) {
        unlock(&sched.lock);
        return;
    }
    mp = sched.midle;
    if (mp != NULL) {
        sched.midle = mp->schedlink;
        sched.needspare = --sched.nmidle == 0;
        if (sched.nmidle < sched.minidle)
            sched.minidle = sched.nmidle;
        unlock(&sched.lock);
        if (mp->schedlink == NULL)
            notewakeup(&sched.newmnote);
        mp->spinning = spinning;
        mp->nextp = pp;
        notewakeup(&mp->park);
        return;
    }
    mp = newmstruct();
    if (mp == NULL) {
        bool warn = !warned;

        warned = true;
        pidleput(pp);
        unlock(&sched.lock);
        if (spinning)
            atomic_fetch_sub(&sched.nmspinning, 1);
        if (warn)
            print("gossamer: %d kernel threads are blocked or busy (GOSSAMER_MAXTHREADS): a P stays idle until one is free\n", maxms);
        return;
    }
    mp->spinning = spinning;
    mp->nextp = pp;
    mp->comelink = sched.coming;
    sched.coming = mp;
    mp->schedlink = sched.newm;
    sched.newm = mp;
    sched.needspare = true;
    unlock(&sched.lock);
    notewakeup(&sched.newmnote);
}

/* sched.lock held. Takes mp out of the list of those that are coming. */
static void
comes(struct m *mp)
{
    struct m **at = &sched.coming;

    while (*at != NULL && *at != mp)
        at = &(*at)->comelink;
    if (*at != NULL)
        *at = mp->comelink;
}

/* An M is out of work, and another one is still to come for a P that has some: mp takes that P. The other may be long in coming, or
 * wait for ever: pthread_create wants a lock of the loader's, whose holder may be a G that waits for just this P. The other
 * one will find no P, and be idle. */
static bool
takecoming(struct m *mp)
{
    struct m *other;
    struct p *pp = NULL;

    lock(&sched.lock);
    if ((other = sched.coming) != NULL) {
        sched.coming = other->comelink;
        pp = other->nextp;
        other->nextp = NULL;
        mp->spinning = other->spinning;
        other->spinning = false;
    }
    unlock(&sched.lock);
    if (pp != NULL)
        acquirep(mp, pp);
    return pp != NULL;
}

/* The M could not be started: give back what it was to start with; sysmon will try again. */
static void
undostart(struct m *mp)
{
    lock(&sched.lock);
    comes(mp);
    if (mp->spinning)
        atomic_fetch_sub(&sched.nmspinning, 1);
    mp->spinning = false;
    if (mp->nextp != NULL)
        pidleput(mp->nextp);
    mp->nextp = NULL;
    mp->schedlink = sched.mdead;
    sched.mdead = mp;
    unlock(&sched.lock);
}

void *
templateloop(void *unused)
{
    uint64_t mask = G0MASK | UINT64_C(1) << (SIGURG - 1);
    pthread_attr_t attr;
    sigset_t first;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, G0STACK);
    /* Until mstart has said who they are, new Ms block SIGURG, too: one that is pending for the process, since all Gs block it, would be
     * handled in libc's part of their start. */
    sigemptyset(&first);
    memcpy(&first, &mask, sizeof mask);
    pthread_attr_setsigmask_np(&attr, &first);
    for (;;) {
        struct m *mp, *next;

        notesleep(&sched.newmnote);
        noteclear(&sched.newmnote);
        sigm.blocked = false;   /* a handler would want the lock; and new Ms begin with this mask */
        setmask(&sigm, G0MASK);
        lock(&sched.lock);
        mp = sched.newm;
        sched.newm = NULL;
        if (sched.needspare && sched.nmidle == 0 && (next = newmstruct()) != NULL) {
            next->nextp = NULL;
            next->schedlink = mp;
            mp = next;
        }
        sched.needspare = false;
        unlock(&sched.lock);
        for (; mp != NULL; mp = next) {
            next = mp->schedlink;
            if (real.pthread_create(&mp->thread, &attr, mstart, mp) != 0)
                undostart(mp);
        }
        sigmopen();
    }
    return unused;
}

void *
mstart(void *arg)
{
    struct m *mp = arg;

    curm = mp;
    mp->count.msmade++;
    rsequnregister();
    atomic_store(&mp->preempting, false);
    store_rlx(&mp->tid, (int)sys3(SYS_gettid, 0, 0, 0));
    mp->g0tp = thread_pointer();
    mp->robust = tlsrobust();
    mp->sigmask = 0;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, 0, A(&mp->sigmask), 8);
    setmask(mp, mp->sigmask & ~(UINT64_C(1) << (SIGURG - 1)));
    if (mp->lockedg == NULL) {  /* else made by mclone: its P comes with its G, perhaps it is in nextp already; see stoplockedm */
        struct p *pp;

        lock(&sched.lock);
        comes(mp);
        pp = mp->nextp;
        mp->nextp = NULL;
        unlock(&sched.lock);
        if (pp != NULL)
            acquirep(mp, pp);
        else
            stopm(mp);
    }
    schedule(mp);
    return NULL;
}

void
msleep(struct m *mp)
{
    mp->blocked = true;         /* from here handlers run at once, so none is left put off */
    compiler_barrier();
    idlestate(mp);
    while (load_acq(&mp->park.key) == 0)
        futex_wait(&mp->park.key, 0, 0);
    mp->blocked = false;
    compiler_barrier();
    noteclear(&mp->park);
}

/* Is an M idle? If not, one is asked for, and will be soon, if one can be made. */
bool
havespare(struct g *gp)
{
    bool have;

    acquirem(gp);
    lock(&sched.lock);
    have = sched.nmidle > 0;
    if (!have)
        sched.needspare = true;
    unlock(&sched.lock);
    if (!have)
        notewakeup(&sched.newmnote);
    releasem(gp);
    return have;
}

/* g0, without a P: sleeps until somebody brings one, or takes it from the list to end it (mp->dying). */
void
stopm(struct m *mp)
{
    if (mp->spinning) {
        mp->spinning = false;
        atomic_fetch_sub(&sched.nmspinning, 1);
    }
    if (unlikely(*(struct m *volatile *)&sched.coming != NULL) && takecoming(mp))
        return;
    lock(&sched.lock);
    mp->schedlink = sched.midle;
    sched.midle = mp;
    sched.nmidle++;
    unlock(&sched.lock);
    msleep(mp);
    if (unlikely(mp->dying))
        return;
    acquirep(mp, mp->nextp);
    mp->nextp = NULL;
}

/* pp was taken from an M that is in a system call or locked: to another M if there is anything to do. */
void
handoffp(struct p *pp)
{
    int32_t none = 0;
    int64_t when, until;

    probe1(handoff, pp->id);
    if (!runqempty(pp) || load_acq(&sched.runqsize) != 0) {
        startm(pp, false);
        return;
    }
    if (load_rlx(&sched.nmspinning) + load_rlx(&sched.npidle) == 0 &&
        atomic_compare_exchange_strong(&sched.nmspinning, &none, 1)) {
        startm(pp, true);
        return;
    }
    lock(&sched.lock);
    if (load_rlx(&sched.runqsize) != 0 ||
        (load_rlx(&sched.npidle) == gomaxprocs - 1 && load_rlx(&sched.lastpoll) != 0)) {
        unlock(&sched.lock);    /* the last P: somebody must wait in the poller */
        startm(pp, false);
        return;
    }
    when = load_rlx(&pp->timers.when0);
    pidleput(pp);
    unlock(&sched.lock);
    if (when != 0 && load_acq(&sched.lastpoll) == 0) {
        until = load_acq(&sched.polluntil);
        if (until == 0 || until > when)
            netpollbreak();
    } else if (when != 0) {
        wakep();
    }
}

/* ---- locked Gs ---- */

void
lockOSThread(struct g *gp, enum gossamer_lock why)
{
    struct m *mp = acquirem(gp);

    gp->locked++;
    mp->count.locks[why]++;
    gp->lockedm = mp;
    mp->lockedg = gp;
    releasem(gp);
}

void
unlockOSThread(struct g *gp)
{
    struct m *mp = acquirem(gp);

    if (gp->locked > 0 && --gp->locked == 0) {
        gp->lockedm = NULL;
        mp->lockedg = NULL;
    }
    releasem(gp);
}

void
lockforgood(struct g *gp, enum gossamer_lock why)
{
    if (!gp->affine) {
        gp->affine = true;
        lockOSThread(gp, why);
    }
}

/* The M was idle for long, or its G has ended and had changed the state of the kernel thread: no other G may run on
 * it. The process's first thread has to stay, its end would make the process a zombie. */
void
mexit(struct m *mp)
{
    uint64_t mask;

    if (mp->p != NULL)
        handoffp(releasep(mp));
    mp->dying = false;
    mp->lockedg = NULL;
    if (mp == &m0)
        for (;;)
            msleep(mp);
    /* What was put off comes now, and goes to somebody else. From there it looks like a foreign thread: no handler may run
     * on it. libc's signals have to. */
    mp->blocked = true;
    idlestate(mp);
    mask = ~(UINT64_C(3) << 31);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&mask), 0, 8);
    curm = NULL;
    mp->blocked = false;
    mp->count.msended++;
    store_rlx(&mp->tid, 0);
    lock(&sched.lock);
    mp->schedlink = sched.mdead;
    sched.mdead = mp;
    unlock(&sched.lock);
}

int
mclone(struct g *gp)
{
    struct g *me = pin();
    pthread_attr_t attr;
    struct m *mp;
    int r;

    lock(&sched.lock);
    mp = newmstruct();
    unlock(&sched.lock);
    unpin(me);
    if (mp == NULL)
        return -EAGAIN;
    mp->nextp = NULL;
    mp->spinning = false;
    mp->lockedg = gp;
    gp->lockedm = mp;
    gp->locked = 1;
    gp->affine = true;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, G0STACK);
    r = real.pthread_create(&mp->thread, &attr, mstart, mp);
    if (r != 0) {
        gp->lockedm = NULL;
        gp->locked = 0;
        gp->affine = false;
        mp->lockedg = NULL;
        pin();
        lock(&sched.lock);
        mp->schedlink = sched.mdead;
        sched.mdead = mp;
        unlock(&sched.lock);
        unpin(me);
        return -EAGAIN;
    }
    return 0;
}

/* Our G waits: the P goes on elsewhere, we sleep until somebody who picked our G hands us his P. */
void
stoplockedm(struct m *mp)
{
    if (mp->p != NULL)
        handoffp(releasep(mp));
    msleep(mp);
    acquirep(mp, mp->nextp);
    mp->nextp = NULL;
}

void
startlockedm(struct m *mp, struct g *gp)
{
    struct m *to = gp->lockedm;

    to->nextp = releasep(mp);
    notewakeup(&to->park);
    stopm(mp);
}

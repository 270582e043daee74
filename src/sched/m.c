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
#include <limits.h>

enum { G0STACK = 256 << 10 };

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
    if (sched.mnext >= MAXMS)
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
            print("gossamer: no more than %d kernel threads: a P stays idle\n", MAXMS);
        return;
    }
    mp->spinning = spinning;
    mp->nextp = pp;
    mp->schedlink = sched.newm;
    sched.newm = mp;
    sched.needspare = true;
    unlock(&sched.lock);
    notewakeup(&sched.newmnote);
}

/* The M could not be started: give back what it was to start with; sysmon will try again. */
static void
undostart(struct m *mp)
{
    if (mp->spinning)
        atomic_fetch_sub(&sched.nmspinning, 1);
    mp->spinning = false;
    lock(&sched.lock);
    if (mp->nextp != NULL)
        pidleput(mp->nextp);
    mp->nextp = NULL;
    mp->schedlink = sched.mdead;
    sched.mdead = mp;
    unlock(&sched.lock);
}

static void sigmopen(void);

void *
templateloop(void *unused)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, G0STACK);
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
    if (mp->lockedg != NULL) {
        /* made by mclone: its P comes with its G, perhaps it is in nextp already; see stoplockedm */
    } else if (mp->nextp != NULL) {
        acquirep(mp, mp->nextp);
        mp->nextp = NULL;
    } else {
        stopm(mp);
    }
    schedule(mp);
    return NULL;
}

/* ---- signals of an M that runs no G ----
 *
 * As long as no G changes its mask, all have the same one, and an idle M may take any signal for the process.
 * After that an idle M must not take what every G blocks. So Ms without a G then block everything, and one
 * thread, the template thread, stands in for them: it takes what any G has open, and hands it to that G.
 *
 * What a G blocks is closed there before its pthread_sigmask returns: even a moment later the default action
 * of a signal that all block might end the process. What a G opens is open in its own M at once; for the
 * time that it is parked sysmon opens it in the template thread, some milliseconds later. So a thread that
 * blocks and unblocks all the time costs the handshake with the template thread a hundred times a second,
 * not each time.
 */

_Atomic uint64_t idlemask;
static _Atomic uint64_t nextmask;       /* what sysmon is about to make it */
_Atomic bool masksused;
_Atomic bool maskstale;
struct m sigm = { .blocked = true };
static struct lock masklock;            /* idlemask, nextmask */
static _Atomic uint32_t maskseq;        /* requests to sigm, and below what it has done */
static _Atomic uint32_t maskdone;

void
setmask(struct m *mp, uint64_t mask)
{
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&mask), 0, 8);
    mp->sigmask = mask;
}

void
idlestate(struct m *mp)
{
    uint64_t mask;

    altoff(mp);
    atomic_thread_fence(memory_order_seq_cst);  /* blocked, then masksused; masksfirst the other way round */
    mask = load_rlx(&masksused) ? G0MASK : load_rlx(&idlemask);
    if (unlikely(mp->deferred)) {
        mp->deferred = false;
        setmask(mp, mask);      /* the handler runs in here; or another thread takes the signal */
    }
    if (unlikely(mp->sigmask != mask))
        setmask(mp, mask);
}

/* In the SIGURG handler of an M without a G: the mask it shall have now; it goes on with it. SIGURG stays
 * blocked until then: a handler inside this one would answer a later request before this one is answered. */
uint64_t
maskpoked(struct m *mp)
{
    uint32_t seq = load_acq(&maskseq);
    uint64_t mask = mp == &sigm && mp->blocked ? load_rlx(&idlemask) : G0MASK;

    setmask(mp, mask | UINT64_C(1) << (SIGURG - 1));
    mp->sigmask = mask;
    if (mp == &sigm) {
        store_rel(&maskdone, seq);
        futex_wake(&maskdone, INT_MAX);
    }
    return mask;
}

/* gp's mask is new, in the kernel too. Pinned. */
void
maskchanged(const struct g *gp)
{
    uint64_t new = gp->sigmask;

    atomic_thread_fence(memory_order_seq_cst);  /* the G's mask, then nextmask; maskrelax the other way round */
    if (~new & load_rlx(&idlemask))
        store_rlx(&maskstale, true);
    if (likely((new & ~(load_rlx(&idlemask) & load_rlx(&nextmask))) == 0))
        return;
    lock(&masklock);
    store_rlx(&idlemask, load_rlx(&idlemask) | new);
    store_rlx(&nextmask, load_rlx(&idlemask));
    unlock(&masklock);
    masksync();
    store_rlx(&maskstale, true);        /* others may have it open */
}

/* What every G without an M blocks; *on: those with one, whose M takes what they have open itself, and in the
 * order in which it was sent. */
static uint64_t
allblock(uint64_t *on)
{
    uint64_t off = G0MASK;      /* whoever it is, SIGURG and libc's stay open */

    *on = off;
    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink) {
        uint32_t status = load_rlx(&gp->status);
        uint64_t mask = *(volatile uint64_t *)&gp->sigmask;

        if (status == Grunning || status == Gsyscall)
            *on &= mask;
        else if (status != Gdead)
            off &= mask;
    }
    return off;
}

/* sysmon: brings idlemask up to what every G blocks. A G that blocks more while we look sees nextmask, or we
 * see its mask when we look again; template thread sees neither before it is certain. */
void
maskrelax(int64_t now)
{
    static int64_t next;
    uint64_t on, before = load_rlx(&idlemask);
    int64_t took;

    if (likely(!load_rlx(&maskstale)) || now < next)
        return;
    store_rlx(&maskstale, false);
    lock(&masklock);
    store_rlx(&nextmask, allblock(&on));
    atomic_thread_fence(memory_order_seq_cst);
    store_rlx(&idlemask, load_rlx(&nextmask) | allblock(&on));
    store_rlx(&nextmask, load_rlx(&idlemask));
    unlock(&masklock);
    if (load_rlx(&idlemask) != before)
        pokem(&sigm);
    if (~on & load_rlx(&idlemask))
        store_rlx(&maskstale, true);    /* when they park, we stand in for them */
    took = nanotime() - now;
    next = now + (took * 20 > 10000000 ? took * 20 : 10000000);
}

void
masksync(void)
{
    uint32_t seq, done;

    seq = atomic_fetch_add(&maskseq, 1) + 1;
    pokem(&sigm);
    while ((int32_t)((done = load_acq(&maskdone)) - seq) < 0)
        futex_wait(&maskdone, done, 0);
}

void
masksfirst(void)
{
    if (atomic_exchange(&masksused, true))
        return;
    masksync();
    for (struct m *mp = load_acq(&sched.allms); mp != NULL; mp = mp->alllink)
        for (int i = 0; i < 1000 && *(volatile bool *)&mp->blocked &&
                        *(volatile uint64_t *)&mp->sigmask != G0MASK; i++) {
            if (i % 100 == 0)
                pokem(mp);
            sys_sleep(20000);   /* asleep or about to wake; awake, it looks for itself */
        }
}

void
maskinit(uint64_t mask)
{
    store_rlx(&idlemask, mask);
    store_rlx(&nextmask, mask);
}

void
maskreset(void)
{
    store_rlx(&masklock.key, 0);
    store_rlx(&maskstale, false);
    maskinit(0);
}

/* The template thread has done its work, during which it blocks all: signals may come to it again. With
 * SIGURG blocked too, a change of main's mask is answered before we look at it or after we have set it. */
static void
sigmopen(void)
{
    setmask(&sigm, G0MASK | UINT64_C(1) << (SIGURG - 1));
    sigm.blocked = true;
    sigm.deferred = false;
    setmask(&sigm, load_rlx(&masksused) ? load_rlx(&idlemask) : G0MASK);
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

/* g0, without a P: sleeps until somebody brings one. */
void
stopm(struct m *mp)
{
    if (mp->spinning) {
        mp->spinning = false;
        atomic_fetch_sub(&sched.nmspinning, 1);
    }
    lock(&sched.lock);
    mp->schedlink = sched.midle;
    sched.midle = mp;
    sched.nmidle++;
    unlock(&sched.lock);
    msleep(mp);
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
lockOSThread(struct g *gp)
{
    struct m *mp = acquirem(gp);

    gp->locked++;
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
lockforgood(struct g *gp)
{
    if (!gp->affine) {
        gp->affine = true;
        lockOSThread(gp);
    }
}

/* The M's G has ended and had changed the state of the kernel thread: no other G may run on it. The
 * process's first thread has to stay, its end would make the process a zombie. */
void
mexit(struct m *mp)
{
    if (mp->p != NULL)
        handoffp(releasep(mp));
    mp->dying = false;
    mp->lockedg = NULL;
    if (mp == &m0)
        for (;;)
            msleep(mp);
    curm = NULL;
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

/* ---- what the kernel keeps per thread and we per G ---- */

_Atomic bool altstacks;

void
altoff(struct m *mp)
{
    stack_t off = { .ss_flags = SS_DISABLE };

    if (mp->altsp == NULL)
        return;
    sys3(SYS_sigaltstack, A(&off), 0, 0);
    mp->altsp = NULL;
}

void
kernelstate(struct m *mp, struct g *gp)
{
    if (gp->altstack.ss_sp == NULL) {
        altoff(mp);
    } else if (gp->altstack.ss_sp != mp->altsp) {
        sys3(SYS_sigaltstack, A(&gp->altstack), 0, 0);
        mp->altsp = gp->altstack.ss_sp;
    }
    if (gp->sigmask != mp->sigmask) {
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
        mp->sigmask = gp->sigmask;
    }
}

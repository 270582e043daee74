/* Signals directed at a G: what the kernel keeps per thread for native ones.
 *
 * Each G has a queue of its own. A signal for a G that runs elsewhere, is runnable or parked is queued, and
 * delivered when that G is next on an M and not pinned (signal_deliver): it then sends the signal to its own
 * kernel thread, with its siginfo, and the kernel does the rest - mask, action, alternate stack. A parked
 * target is claimed with WakeSignal, so that its wait ends; a running one is poked with SIGURG. A target
 * inside a system call gets the real signal at once, which interrupts the call as it should.
 *
 * Process-directed signals come to any M; the main G takes them unless it blocks them, as on Linux.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <string.h>

enum { MAXQUEUED = 4096 };

struct sigentry {
    struct sigentry *next;
    siginfo_t info;
};

static struct lock siglock;     /* all queues and the free list */
static struct sigentry pool[MAXQUEUED], *freelist;
static int used;

static inline uint64_t
bit(int sig)
{
    return UINT64_C(1) << (sig - 1);
}

static struct sigentry *
getentry(void)
{
    struct sigentry *e = freelist;

    if (e != NULL)
        freelist = e->next;
    else if (used < MAXQUEUED)
        e = &pool[used++];
    return e;
}

/* siglock held. Standard signals are pending at most once; real-time ones queue. False: no room. */
static bool
enqueue(struct g *gp, int sig, const siginfo_t *info)
{
    struct sigentry *e, **at = &gp->sigq;

    if (sig < SIGRTMIN && (load_rlx(&gp->sigpend) & bit(sig)) != 0)
        return true;
    e = getentry();
    if (e == NULL)
        return false;
    e->info = *info;
    while (*at != NULL && (*at)->info.si_signo <= sig)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
    store_rlx(&gp->sigpend, load_rlx(&gp->sigpend) | bit(sig));
    return true;
}

/* siglock held. Takes the lowest signal of the set out of gp's queue; 0: none. */
static int
dequeue(struct g *gp, uint64_t set, siginfo_t *info)
{
    for (struct sigentry **at = &gp->sigq, *e; (e = *at) != NULL; at = &e->next) {
        int sig = e->info.si_signo;
        bool more = false;

        if ((set & bit(sig)) == 0)
            continue;
        *info = e->info;
        *at = e->next;
        e->next = freelist;
        freelist = e;
        for (e = gp->sigq; e != NULL; e = e->next)
            more |= e->info.si_signo == sig;
        if (!more)
            store_rlx(&gp->sigpend, load_rlx(&gp->sigpend) & ~bit(sig));
        return sig;
    }
    return 0;
}

static long
sendtothread(int tid, int sig, const siginfo_t *info)
{
    return sys4(SYS_rt_tgsigqueueinfo, sys3(SYS_getpid, 0, 0, 0), tid, sig, A(info));
}

/* Sends info->si_signo to gp. Not from inside the runtime. */
int
signal_send(struct g *gp, const siginfo_t *info)
{
    int sig = info->si_signo, tid = 0;
    struct m *mp = gp->m;
    struct g *me = pin();
    bool open, parked;

    lock(&siglock);
    open = (gp->sigmask & bit(sig)) == 0;
    if (mp != NULL && ((gp->insys && open) || (gp->sigwait & bit(sig)) != 0))
        tid = load_rlx(&mp->tid);
    else if (!enqueue(gp, sig, info))
        tid = mp != NULL ? load_rlx(&mp->tid) : 0;
    else if (open)
        gp->sigwork = true;
    unlock(&siglock);
    unpin(me);
    if (tid != 0)
        return (int)sendtothread(tid, sig, info);
    if (!open || gp == curg)
        return 0;
    if (gclaim(&gp->wake, WakeSignal, &parked)) {
        if (parked)
            goready(gp);
    } else if (mp != NULL && *(struct g *volatile *)&mp->curg == gp) {
        pokem(mp);
    }
    return 0;
}

/* On gp, not pinned: what is queued and not blocked. The handlers run in here. */
void
signal_deliver(struct g *gp)
{
    for (;;) {
        siginfo_t info;
        int sig;

        gp->locks++;
        lock(&siglock);
        gp->sigwork = false;
        sig = dequeue(gp, ~gp->sigmask, &info);
        unlock(&siglock);
        gp->locks--;
        if (sig == 0)
            return;
        gp->sigdirect = true;
        sendtothread((int)sys3(SYS_gettid, 0, 0, 0), sig, &info);
        gp->sigdirect = false;
    }
}

/* gp's mask has changed. Pinned. */
void
signal_unblocked(struct g *gp)
{
    if (unlikely(load_rlx(&gp->sigpend) & ~gp->sigmask))
        gp->sigwork = true;
}

uint64_t
signal_pending(struct g *gp)
{
    return load_rlx(&gp->sigpend);
}

/* sigtimedwait: what is queued for us, else what the kernel has or gets for this thread or the process.
 * gp->sigwait tells senders to use the kernel: the signal stays pending there until we are in the call. */
int
signal_wait(const sigset_t *set, siginfo_t *info, const struct timespec *ts)
{
    struct g *gp = getg();
    uint64_t bits;
    long r;

    if (gp == NULL)
        return (int)sys4(SYS_rt_sigtimedwait, A(set), A(info), A(ts), 8);
    memcpy(&bits, set, sizeof bits);
    acquirem(gp);
    lock(&siglock);
    r = dequeue(gp, bits, info);
    gp->sigwait = r == 0 ? bits : 0;
    unlock(&siglock);
    releasem(gp);
    if (r != 0)
        return (int)r;
    r = io_syscall(true, SYS_rt_sigtimedwait, A(set), A(info), A(ts), 8, 0, 0);
    gp->sigwait = 0;
    return (int)r;
}

void
signal_flush(struct g *gp)
{
    siginfo_t info;
    struct g *me;

    if (gp->sigq == NULL)
        return;
    me = pin();
    lock(&siglock);
    while (dequeue(gp, ~UINT64_C(0), &info) != 0)
        ;
    unlock(&siglock);
    unpin(me);
}

void
signal_reset(void)
{
    store_rlx(&siglock.key, 0);
    freelist = NULL;
    used = 0;
}

/* Signals directed at a G: what the kernel keeps per thread for native ones.
 *
 * Each G has a queue of its own. A signal for a G that runs elsewhere, is runnable or parked is queued, and
 * delivered when that G is next on an M and not pinned (signal_deliver): it then sends the signal to its own
 * kernel thread, with its siginfo, and the kernel does the rest - mask, action, alternate stack. A parked
 * target is claimed with WakeSignal, so that its wait ends; one that runs or is in a system call is poked with
 * SIGURG, which makes the call return EINTR (the kernel allows no siginfo of ours for another thread).
 *
 * Process-directed signals come to any M; the main G takes them unless it blocks them, as on Linux.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>

enum { MAXQUEUED = 4096, MAXDELIVER = 64 };

struct sigentry {
    struct sigentry *next;
    bool process;               /* was sent to the process: another thread may have it */
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

/* gp's mask as the program knows it. */
static inline uint64_t
maskof(const struct g *gp)
{
    return gp->sigmask | (gp->urgblocked ? bit(SIGURG) : 0);
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
enqueue(struct g *gp, int sig, const siginfo_t *info, bool process)
{
    struct sigentry *e, **at = &gp->sigq;

    if (sig < SIGRTMIN && (load_rlx(&gp->sigpend) & bit(sig)) != 0)
        return true;
    e = getentry();
    if (e == NULL)
        return false;
    e->info = *info;
    e->process = process;
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

/* Pending for the calling kernel thread. Where the user has too many signals queued (RLIMIT_SIGPENDING) the kernel refuses
 * real-time signals, unless they say that they come from kill: then without what they bring along, but not lost. */
long
signal_pend(int sig, const siginfo_t *info)
{
    long pid = sys3(SYS_getpid, 0, 0, 0), tid = sys3(SYS_gettid, 0, 0, 0);
    long r = sys4(SYS_rt_tgsigqueueinfo, pid, tid, sig, A(info));
    siginfo_t bare;

    if (likely(r != -EAGAIN))
        return r;
    memset(&bare, 0, sizeof bare);
    bare.si_signo = sig;
    return sys4(SYS_rt_tgsigqueueinfo, pid, tid, sig, A(&bare));
}

/* The signal is handled in here, by gp, on the M that it is on. With all signals blocked meanwhile it can
 * neither be moved to another M between asking for the thread id and sending, nor be interrupted by a
 * handler that moves it; the kernel delivers when the mask is put back. gp->sent tells the trampoline which
 * of several that come then is for gp and not for the process. Not pinned. */
long
signal_self(struct g *gp, const siginfo_t *info)
{
    uint64_t all = ~UINT64_C(0);
    long r;

    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&all), 0, 8);
    memcpy(gp->sent, info, sizeof gp->sent);
    gp->sigsent = true;
    r = signal_pend(info->si_signo, info);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
    gp->sigsent = false;
    return r;
}

/* gp's trampoline: is it that one? */
bool
signal_issent(struct g *gp, const siginfo_t *info)
{
    bool bare = info->si_code == SI_USER && info->si_pid == 0;      /* RLIMIT_SIGPENDING: without its siginfo */

    if (!gp->sigsent || (memcmp(gp->sent, info, sizeof gp->sent) != 0 && (!bare || (int)gp->sent[0] != info->si_signo)))
        return false;
    gp->sigsent = false;
    return true;
}

/* To gp, which has ended (`process`: then to whoever else has it open) or not. */
static int
sendto_g(struct g *gp, const siginfo_t *info, bool process)
{
    int sig = info->si_signo;
    struct g *me = pin();
    bool open, parked, queued;
    uint64_t mine = 0;

    signal_hold(me, &mine);
    lock(&siglock);
    open = (maskof(gp) & bit(sig)) == 0 || (gp->sigwait & bit(sig)) != 0 || (gp->showing && !process);
    if (gp->sigdead || (process && !open)) {
        unlock(&siglock);
        signal_unhold(me, &mine);
        unpin(me);
        return process ? -ESRCH : 0;
    }
    queued = enqueue(gp, sig, info, process);
    if (queued && open)
        gp->sigwork = true;
    unlock(&siglock);
    signal_unhold(me, &mine);
    unpin(me);
    if (!queued)
        return -EAGAIN;
    if (!open || gp == curg)
        return 0;
    atomic_thread_fence(memory_order_seq_cst);  /* sigwork, then curg and insys; io_syscall the other way */
    if (gclaim(&gp->wake, WakeSignal, &parked)) {
        if (parked)
            goready(gp);
    } else {
        pokeg(gp);
    }
    return 0;
}

/* Sends info->si_signo to gp. Not from inside the runtime. */
int
signal_send(struct g *gp, const siginfo_t *info)
{
    return sendto_g(gp, info, false);
}

/* To the process, with its siginfo. The kernel lets only the process's first thread say that a signal came from
 * kill or from the kernel; others have to do it by a pidfd of themselves (Linux 6.9), or as kill does. */
static void
sendagain(const siginfo_t *info)
{
    enum { PidfdThread = 0200 /* O_EXCL */, ThreadGroup = 2 };
    long pid = sys3(SYS_getpid, 0, 0, 0), fd, r;

    r = sys3(SYS_rt_sigqueueinfo, pid, info->si_signo, A(info));
    if (r == 0)
        return;
    fd = r == -EPERM ? sys3(SYS_pidfd_open, sys3(SYS_gettid, 0, 0, 0), PidfdThread, 0) : -1;
    if (fd >= 0) {
        r = sys4(SYS_pidfd_send_signal, fd, info->si_signo, A(info), ThreadGroup);
        sys3(SYS_close, fd, 0, 0);
    }
    if (r < 0)
        sys3(SYS_kill, pid, info->si_signo, 0);
}

/* The same for one that is the process's, and came to another thread: if gp has ended or blocks it by now, the
 * kernel looks again for somebody who has it open. */
void
signal_handon(struct g *gp, const siginfo_t *info)
{
    if (sendto_g(gp, info, true) == -ESRCH)
        sendagain(info);
}

/* Would gp take one of the process's signals? Not if it is about to end: it may still wait for a P, and who kept sending the
 * signal round until it is gone would keep that P from it. */
static bool
takes(struct g *gp, uint64_t b)
{
    uint32_t status = load_acq(&gp->status);

    return status != Gdead && status != Gidle && !*(volatile bool *)&gp->sigdead && ((gp->sigwait & b) != 0 || (maskof(gp) & b) == 0);
}

bool
signal_takes(struct g *gp, int sig)
{
    return takes(gp, bit(sig));
}

/* A signal for the process came to a thread that runs no G: to a G that waits for it or does not block it. If
 * there is none, this thread does so from now on (*mask: its own when the handler returns), and the
 * signal is sent once more, to stay pending. */
bool
signal_process(const siginfo_t *info, uint64_t *mask)
{
    uint64_t b = bit(info->si_signo);
    struct g *gp = signal_main;

    if (!takes(gp, b)) {
        gp = NULL;
        for (struct g *other = load_acq(&sched.allgs); other != NULL && gp == NULL; other = other->alllink)
            if (takes(other, b))
                gp = other;
    }
    if (gp != NULL) {
        signal_handon(gp, info);
        return true;
    }
    /* SIGURG must not be blocked here, or pokes would not come through: main has it pending. */
    if (info->si_signo == SIGURG && !*(volatile bool *)&signal_main->sigdead) {
        signal_send(signal_main, info);
        return true;
    }
    *mask |= b;                 /* the last G that had it open has ended */
    store_rlx(&maskstale, true);
    sendagain(info);
    return true;
}

/* On gp, not pinned: what is queued and not blocked. The handlers run in here.
 *
 * Whoever sends more meanwhile finds gp->delivering and leaves it to this loop. Were it done in the frame of the SIGURG
 * that tells of it, a sender that is as fast as we are would pile up frames until the stack is full. Of several
 * signals the others stay announced (sigwork) while a handler runs: it may leave by longjmp. And after some
 * gp itself goes on, whatever comes: a sender may send until gp gets on. What is left is for the next way through the
 * runtime, or sysmon's poke (pokeleft). */
void
signal_deliver(struct g *gp)
{
    int sig, left = MAXDELIVER;

    do {
        siginfo_t info;

        if (unlikely(gp->kattr != NULL))
            kattr_apply(gp);
        gp->delivering = true;
        gp->locks++;
        lock(&siglock);
        gp->sigwork = false;
        sig = dequeue(gp, ~maskof(gp), &info);
        gp->sigwork = (load_rlx(&gp->sigpend) & ~maskof(gp)) != 0;
        unlock(&siglock);
        if (sig == 0)
            gp->delivering = false;
        compiler_barrier();
        gp->locks--;            /* what came while it was held has set sigwork */
        if (sig != 0)
            signal_self(gp, &info);
    } while ((sig != 0 || gp->sigwork) && --left > 0);
    gp->delivering = false;
}

/* What was the process's and gp will not handle - it blocks it now, or ends - goes back to the process. Pinned. */
static void
giveback(struct g *gp, uint64_t set)
{
    for (;;) {
        struct sigentry *e, **at = &gp->sigq;
        siginfo_t info;
        uint64_t left = 0;

        lock(&siglock);
        while ((e = *at) != NULL && (!e->process || (set & bit(e->info.si_signo)) == 0))
            at = &e->next;
        if (e != NULL) {
            info = e->info;
            *at = e->next;
            e->next = freelist;
            freelist = e;
            for (struct sigentry *other = gp->sigq; other != NULL; other = other->next)
                left |= bit(other->info.si_signo);
            store_rlx(&gp->sigpend, left);
        }
        unlock(&siglock);
        if (e == NULL)
            return;
        sendagain(&info);
    }
}

/* The end of a trampoline, with all signals blocked: the first that gp has open now is sent, and comes when the
 * handler's frame is gone, as it would natively. */
void
signal_next(struct g *gp)
{
    siginfo_t info;
    int sig;

    lock(&siglock);
    sig = dequeue(gp, ~maskof(gp), &info);
    gp->sigwork = (load_rlx(&gp->sigpend) & ~maskof(gp)) != 0;
    unlock(&siglock);
    if (sig == 0)
        return;
    memcpy(gp->sent, &info, sizeof gp->sent);
    gp->sigsent = true;
    signal_pend(sig, &info);
}

/* gp's mask has changed. Pinned. */
void
signal_unblocked(struct g *gp)
{
    if (unlikely(~gp->sigmask & load_rlx(&idlemask)))
        store_rlx(&maskstale, true);    /* after a handler, during which all may have had it blocked */
    if (likely(load_rlx(&gp->sigpend) == 0))
        return;
    if (load_rlx(&gp->sigpend) & ~maskof(gp))
        gp->sigwork = true;
    if (load_rlx(&gp->sigpend) & maskof(gp))
        giveback(gp, maskof(gp));
}

bool
signal_blocked(const struct g *gp, int sig)
{
    return (maskof(gp) & bit(sig)) != 0;
}

uint64_t
signal_pending(struct g *gp)
{
    return load_rlx(&gp->sigpend);
}

static int
takequeued(struct g *gp, uint64_t bits, siginfo_t *info)
{
    int sig;

    acquirem(gp);
    lock(&siglock);
    sig = dequeue(gp, bits, info);
    gp->sigwait = sig == 0 ? bits : 0;
    unlock(&siglock);
    releasem(gp);
    return sig;
}

/* After a handler: gp goes on to wait for these. True: some came meanwhile, for which nobody broke its call off. Pinned. */
bool
signal_waitagain(struct g *gp, uint64_t bits, bool showing)
{
    bool came;

    lock(&siglock);
    gp->sigwait = bits;
    gp->showing = showing;
    came = (load_rlx(&gp->sigpend) & bits) != 0;
    unlock(&siglock);
    return came;
}

/* sigtimedwait: what is queued for us, else what the kernel has or gets for the process. gp->sigwait tells
 * senders to break the kernel's wait. SIGURG is not waited for there: it may be ours. */
int
signal_wait(const sigset_t *set, siginfo_t *info, const struct timespec *ts)
{
    struct g *gp = getg();
    int64_t until = 0;
    struct timespec left;
    uint64_t bits;
    long r;

    if (gp == NULL || (ts != NULL && (ts->tv_nsec < 0 || ts->tv_nsec >= 1000000000 || ts->tv_sec < 0)))
        return (int)sys4(SYS_rt_sigtimedwait, A(set), A(info), A(ts), 8);
    memcpy(&bits, set, sizeof bits);
    if (ts != NULL && ts->tv_sec < INT32_MAX)
        until = nanotime() + ts->tv_sec * 1000000000 + ts->tv_nsec;
    signal_begin(gp);
    do {
        uint64_t kernel = bits & ~bit(SIGURG);
        int64_t ns = until != 0 ? until - nanotime() : 0;

        if ((r = takequeued(gp, bits, info)) != 0)
            return (int)r;
        left.tv_sec = ns > 0 ? ns / 1000000000 : 0;
        left.tv_nsec = ns > 0 ? ns % 1000000000 : 0;
        r = io_syscall(Blocks, SYS_rt_sigtimedwait, A(&kernel), A(info), until != 0 ? A(&left) : 0, 8, 0, 0);
    } while (r == -EINTR && !cancelnow(gp) && (!gp->sigran || (load_rlx(&gp->sigpend) & bits) != 0));
    gp->sigwait = 0;
    return (int)r;
}

/* The set as the kernel may have it: never with SIGURG, which pokeg uses. */
const sigset_t *
signal_callmask(const sigset_t *set, sigset_t *own)
{
    if (set == NULL)
        return NULL;
    memcpy(own, set, 8);
    sigdelset(own, SIGURG);
    return own;
}

/* A system call with a signal mask of its own (ppoll, sigsuspend), made by signal_callmask: the kernel swaps
 * the masks, and senders see the call's. What is queued and that mask lets through is handled under it, as if it
 * came then. */
long
signal_maskedcall(const sigset_t *set, long nr, long a, long b, long c, long d, long e, long f)
{
    struct g *gp = getg();
    uint64_t before, during;
    sigset_t old;
    bool pending;
    long r;

    if (gp == NULL || set == NULL)
        return io_syscall(Blocks, nr, a, b, c, d, e, f);
    memcpy(&during, set, sizeof during);
    signal_begin(gp);           /* a handler that runs from here on ends the call */
    acquirem(gp);
    lock(&siglock);             /* a sender finds the old mask and queues before us, or the new one */
    before = gp->sigmask;
    pending = (load_rlx(&gp->sigpend) & ~during) != 0;
    if (!pending)
        gp->sigmask = during;
    unlock(&siglock);
    releasem(gp);
    if (pending) {
        signal_mask(SIG_SETMASK, set, &old);
        signal_mask(SIG_SETMASK, &old, NULL);
        return -EINTR;
    }
    gp->masked = true;
    r = io_syscall(Blocks, nr, a, b, c, d, e, f);
    gp->masked = false;
    acquirem(gp);
    gp->sigmask = before;
    if (gp->m->sigmask != before)
        setmask(gp->m, before); /* we came back on another M, which was given the call's mask */
    signal_unblocked(gp);
    releasem(gp);
    return r;
}

/* ---- what is queued for a G, where the kernel has to know of it: exec, and reading a signalfd ---- */

/* Pinned. What of `set` is queued for gp is made pending for its kernel thread, and counted. The kernel's mask is then all that
 * the program knows to be blocked. Nothing is handled on the way. */
static void
tokernel(struct g *gp, uint64_t set, struct sigmoved *moved)
{
    uint64_t all = ~UINT64_C(0), mask = maskof(gp);
    siginfo_t info;
    int sig;

    if (load_rlx(&gp->sigpend) != 0)
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&all), 0, 8);
    do {
        lock(&siglock);
        sig = dequeue(gp, set, &info);
        unlock(&siglock);
        if (sig == 0)
            break;
        signal_pend(sig, &info);
        if (sig >= SIGRTMIN || moved->n[sig] == 0)
            moved->n[sig]++;
    } while (moved->n[sig] < UINT8_MAX);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&mask), 0, 8);
}

/* And back: so many of each, since the kernel gives what it has for the thread before what it has for the process. */
static void
fromkernel(struct g *gp, struct sigmoved *moved)
{
    struct timespec zero = { 0, 0 };
    siginfo_t info;

    for (int sig = 1; sig <= 64; sig++)
        for (uint64_t set = bit(sig); moved->n[sig] > 0; moved->n[sig]--) {
            if (sys4(SYS_rt_sigtimedwait, A(&set), A(&info), A(&zero), 8) != sig)
                continue;
            lock(&siglock);
            enqueue(gp, sig, &info, false);
            unlock(&siglock);
        }
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
    signal_unblocked(gp);
}

void
signal_toexec(struct g *gp, struct sigmoved *moved)
{
    acquirem(gp);
    tokernel(gp, maskof(gp), moved);
}

void
signal_fromexec(struct g *gp, struct sigmoved *moved)
{
    fromkernel(gp, moved);
    releasem(gp);
}

void
signal_moveback(struct g *gp)
{
    acquirem(gp);
    fromkernel(gp, gp->moved);
    gp->moved = NULL;
    releasem(gp);
    unlockOSThread(gp);
}

/* Senders of what gp blocks shall break off its call from now on. True: some is queued already. */
static bool
watch(struct g *gp)
{
    bool some;

    acquirem(gp);
    lock(&siglock);
    gp->showing = true;
    some = (load_rlx(&gp->sigpend) & gp->sigmask) != 0;
    unlock(&siglock);
    releasem(gp);
    return some;
}

/* A call that looks at signalfds, which show what is pending for the process and for the thread that asks. What is queued
 * for gp has to be its kernel thread's for the time of the call;
 * what a read took of that does not come back. *again: a sender broke it off, and no handler ran. */
long
signal_showing(unsigned how, const long call[7], bool *again)
{
    struct g *gp = getg();
    struct sigmoved moved = { 0 };
    const struct signalfd_siginfo *si = (const void *)call[2];
    long r;

    signal_begin(gp);
    if (watch(gp)) {
        lockOSThread(gp, GOSSAMER_LOCK_MUTEX);
        gp->moved = &moved;
        acquirem(gp);
        tokernel(gp, gp->sigmask, &moved);
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
        releasem(gp);
        if (watch(gp))
            gp->sigwork = true; /* came just now */
    }
    r = io_syscall(how, call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
    gp->showing = false;
    *again = r == -EINTR && !cancelnow(gp) && !gp->sigran;
    if (gp->moved != NULL) {
        for (long n = call[0] == SYS_read && r > 0 ? r / (long)sizeof *si : 0; n > 0; n--, si++)
            if (si->ssi_signo <= 64 && moved.n[si->ssi_signo] > 0)
                moved.n[si->ssi_signo]--;
        signal_moveback(gp);
    }
    return r;
}

long
signal_fdread(int fd, void *buf, size_t n)
{
    const long call[7] = { SYS_read, fd, A(buf), A(n) };
    struct g *gp = getg();
    bool again;
    long r;

    do
        r = signal_showing(Blocks, call, &again);
    while (again || (r == -EINTR && !cancelnow(gp) && !gp->sigintr));
    return r;
}

void
signal_flush(struct g *gp)
{
    siginfo_t info;
    struct g *me = pin();

    lock(&siglock);
    gp->sigdead = true;         /* from here on senders find that it has ended */
    unlock(&siglock);
    if (gp->sigq == NULL) {
        unpin(me);
        return;
    }
    giveback(gp, ~UINT64_C(0));
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
    signal_resetactions();
    signal_resettimers();
    freelist = NULL;
    used = 0;
}

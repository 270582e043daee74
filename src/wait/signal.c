/* Signal handlers of the program, behind a trampoline.
 *
 * The kernel delivers on a kernel thread, which may just then be in the runtime: with a lock held, in the
 * middle of a switch, or on g0. There the handler must not run, since it may call us again. The trampoline
 * queues the signal once more for the same kernel thread, with its siginfo, and leaves it blocked; the
 * way out of the runtime restores the mask, and the signal comes again (deferredsignals, idlestate).
 * Signals of the fault kind are the G's own doing and are handled where they are.
 *
 * A handler that interrupts a blocking call steps out of it for its time (struct under).
 *
 * While the handler runs on a G, the G's mask is what the kernel made it, so that it stays right if the
 * handler parks and another G takes the M.
 *
 * SA_RESETHAND is ours to do: the kernel would do it at the first delivery, which we may put off.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "base/real.h"
#include <errno.h>
#include <string.h>
#include <ucontext.h>

enum { ResetHand = (int)SA_RESETHAND };

struct action {
    struct sigaction sa;        /* as the program gave it; under lock */
    _Atomic bool ours;          /* the kernel has the trampoline */
};

static struct action actions[_NSIG];
static struct lock actionlock;
struct g *signal_main;

/* libc's own two signals cannot be blocked, as natively; SIGURG only as far as the program can tell: the
 * kernel's mask never has it, or a G that blocks all could be neither preempted nor poked. */
enum { Urg = SIGURG - 1 };
#define UNBLOCKABLE (UINT64_C(3) << 31 | UINT64_C(1) << Urg | UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1))

static bool
faultsignal(int sig)
{
    return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

static bool
fault(int sig, const siginfo_t *info)
{
    return faultsignal(sig) && info->si_code > 0;
}

/* Whether this signal interrupted the runtime, on an M. */
static bool
interruptedruntime(void)
{
    struct g *gp = curg;
    struct m *mp = curm;

    if (gp != NULL)
        return gp->locks > 0;
    return mp != NULL && !mp->blocked;
}

static void
putoff(struct m *mp, int sig, siginfo_t *info, ucontext_t *uc)
{
    uint64_t bit = UINT64_C(1) << (sig - 1);

    sys4(SYS_rt_sigprocmask, SIG_BLOCK, A(&bit), 0, 8);         /* SA_NODEFER */
    sigaddset(&uc->uc_sigmask, sig);
    signal_pend(sig, info);
    mp->putoff |= bit;
    mp->deferred = true;
}

static void
call(int sig, siginfo_t *info, void *uc)
{
    struct sigaction sa;
    struct g *me = pin();
    uint64_t mine = 0;

    signal_hold(me, &mine);
    lock(&actionlock);
    sa = actions[sig].sa;
    if (sa.sa_flags & ResetHand)
        actions[sig].sa.sa_handler = SIG_DFL;
    unlock(&actionlock);
    signal_unhold(me, &mine);
    unpin(me);
    if ((sa.sa_flags & ResetHand) && sig != SIGURG)
        real.sigaction(sig, &actions[sig].sa, NULL);
    if (sa.sa_flags & SA_SIGINFO)
        sa.sa_sigaction(sig, info, uc);
    else if (sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN)
        sa.sa_handler(sig);
}

/* A signal for the process, on an M that is not main's: main takes it unless it blocks it. */
static bool
elsewhere(struct g *gp, bool direct, int sig, const siginfo_t *info, ucontext_t *uc)
{
    struct g *main = signal_main, *to;

    /* The kernel sends these two to the thread whose write failed, with the code of kill. */
    if (gp != NULL && (sig == SIGPIPE || sig == SIGXFSZ))
        return false;
    if (sig == SIGURG && gp != NULL && gp->urgblocked && !direct) {
        signal_send(gp, info);
        return true;
    }
    if (main != NULL && !direct && signal_timed(info, &to)) {
        if (to == gp && gp != NULL)
            return false;
        if (to != NULL)
            signal_send(to, info);
        return true;
    }
    if (gp == NULL && main != NULL && curm != NULL)
        return signal_process(info, (uint64_t *)(void *)&uc->uc_sigmask);      /* nobody's handler may run here */
    if (info->si_code == SI_TKILL || main == NULL || gp == main || direct ||
        !signal_takes(main, sig))
        return false;
    signal_handon(main, info);
    return true;
}

/* What a handler stands on, if that is a call: for the time of the handler it is undone, so that the handler runs on a P like any
 * other code of the program. It may then wait, be left by a jump or an exception, or switch to another context,
 * and when it returns, perhaps much later, the call's state comes back. */
struct under {
    bool insys, masked, raw, showing, sigintr;
    uint64_t sigwait;
};

/* Pinned. */
static void
stepout(struct g *gp, struct under *u)
{
    *u = (struct under){ gp->insys, gp->masked, gp->raw, gp->showing, gp->sigintr, gp->sigwait };
    gp->masked = gp->raw = gp->showing = false;
    gp->sigwait = 0;
    if (gp->moved != NULL)
        signal_moveback(gp);
}

/* Pinned, all signals blocked. A call that has to look at the queue again, or whose mask was the kernel's for once, does not
 * begin, or is not started again: io_syscall's caller sees to it. */
static void
stepback(struct g *gp, const struct under *u, ucontext_t *uc)
{
    bool came = false;

    gp->raw = u->raw;
    gp->masked = u->masked;
    if (u->showing || u->sigwait != 0)
        came = signal_waitagain(gp, u->sigwait, u->showing);
    if (u->insys) {
        entersyscall(gp);
        if (cancelnow(gp))
            pokem(gp->m);       /* a SIGURG that told of it in the handler could do nothing: once more, when this frame is gone */
    }
    if (u->masked || u->showing || came) {
        gp->sigwork = true;     /* for sys6_unless, if the call has not begun */
        breakcall(uc);
    }
}

static void
trampoline(int sig, siginfo_t *info, void *ucontext)
{
    ucontext_t *uc = ucontext;
    struct g *gp = curg;
    uint64_t before, during = 0, all = ~UINT64_C(0);
    bool outer, intr, delivering;
    struct under under;
    int saved = errno;

    if (sig == SIGURG && !signal_caught(SIGURG))
        return;                 /* ours, come late */
    if (active && interruptedruntime() && !fault(sig, info)) {
        putoff(gp != NULL ? gp->m : curm, sig, info, uc);
        errno = saved;
        return;
    }
    if (gp != NULL)
        gp->m->putoff &= ~(UINT64_C(1) << (sig - 1));
    else if (curm != NULL)
        curm->putoff &= ~(UINT64_C(1) << (sig - 1));
    if (active && !fault(sig, info)) {
        uint64_t mine = 0;
        bool gone;

        /* Pinned: the kernel's mask is not the one that we know the G to have, no other may run now. A thread without a G
         * cannot be pinned: another handler on top of this one would want the lock that it holds. */
        if (gp != NULL)
            gp->locks++;
        signal_hold(gp, &mine);
        gone = elsewhere(gp, gp != NULL && signal_issent(gp, info), sig, info, uc);
        if (!gone)
            signal_unhold(gp, &mine);
        if (gp != NULL)
            gp->locks--;
        if (gone) {
            errno = saved;
            return;
        }
    }
    if (gp == NULL || !active || gp->locks > 0) {
        call(sig, info, uc);
        errno = saved;
        return;
    }
    intr = !(actions[sig].sa.sa_flags & SA_RESTART);
    memcpy(&before, &uc->uc_sigmask, sizeof before);
    gp->locks++;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, 0, A(&during), 8);
    during &= ~UNBLOCKABLE;
    gp->sigmask = gp->m->sigmask = during;
    outer = gp->nopreempt;
    gp->nopreempt |= !runtimecode(uc) && untouchable(gp, uc);      /* the runtime is not pinned, or we would not be here */
    delivering = gp->delivering;
    gp->delivering = false;     /* the handler takes what comes meanwhile, and may leave by longjmp */
    stepout(gp, &under);
    releasem(gp);
    if (under.insys)
        exitsyscall(gp);
    call(sig, info, uc);
    gp->sigran = true;          /* waits of the handler's own, and handlers on top of it, have changed them */
    gp->sigintr = under.sigintr | intr;
    if (unlikely(curg != gp)) { /* it forked, and this is the child: whoever is interrupted looks, too */
        errno = saved;
        return;
    }
    gp->locks++;
    gp->nopreempt = outer;
    gp->delivering = delivering;
    memcpy(&before, &uc->uc_sigmask, sizeof before);    /* the handler may have changed it */
    gp->urgblocked |= before >> Urg & 1;
    before &= ~UNBLOCKABLE;
    memcpy(&uc->uc_sigmask, &before, sizeof before);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&all), 0, 8);       /* until the return from the frame sets `before` */
    gp->sigmask = gp->m->sigmask = before;
    signal_unblocked(gp);
    if (gp->sigwork)
        signal_next(gp);
    stepback(gp, &under, uc);
    gp->locks--;
    errno = saved;
}

/* sigaction(2) for a process that is or was active. */
int
signal_action(int sig, const struct sigaction *new, struct sigaction *old)
{
    struct sigaction sa, was;
    bool handler = new != NULL && new->sa_handler != SIG_DFL && new->sa_handler != SIG_IGN;
    uint64_t mine = 0;
    struct g *me;
    int r;

    if (sig <= 0 || sig >= _NSIG)
        return real.sigaction(sig, new, old);
    if (new != NULL) {
        sa = *new;
        if (handler) {
            sa.sa_sigaction = trampoline;
            sa.sa_flags = (sa.sa_flags | SA_SIGINFO) & ~ResetHand;
            sigdelset(&sa.sa_mask, SIGURG);
            if ((sa.sa_flags & SA_ONSTACK) && !faultsignal(sig))
                store_rlx(&altstacks, true);
        }
    }
    me = pin();
    signal_hold(me, &mine);
    lock(&actionlock);
    was = actions[sig].sa;
    if (handler || (new != NULL && sig == SIGURG)) {
        actions[sig].sa = *new;
        store_rlx(&actions[sig].ours, true);
    }
    unlock(&actionlock);
    if (sig == SIGURG) {        /* the kernel's handler stays sched/preempt.c's */
        if (old != NULL)
            *old = was;
        r = 0;
    } else {
        r = real.sigaction(sig, new != NULL ? &sa : NULL, old);
    }
    if (r < 0 && handler) {
        lock(&actionlock);
        actions[sig].sa = was;
        unlock(&actionlock);
    }
    signal_unhold(me, &mine);
    unpin(me);
    if (r == 0 && old != NULL && old->sa_sigaction == trampoline) {
        int flags = old->sa_flags;

        *old = was;
        old->sa_flags = was.sa_flags | (flags & 0x04000000);    /* SA_RESTORER, as libc shows it */
    }
    return r;
}

/* At boot: the handlers that the program has already. */
void
signal_boot(void)
{
    struct sigaction sa;

    preemptother = trampoline;
    signaldeliver = signal_deliver;
    signal_main = curg;
    if (!load_rlx(&actions[SIGURG].ours))       /* in a forked child it is what the program set since */
        actions[SIGURG].sa = preemptolder;
    for (int sig = 1; sig < _NSIG; sig++)
        if (sig != 32 && sig != 33 && sig != SIGURG && real.sigaction(sig, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL &&
            sa.sa_handler != SIG_IGN && sa.sa_sigaction != trampoline)
            signal_action(sig, &sa, NULL);
}

/* pthread_sigmask; `how` as there. -errno. */
int
signal_mask(int how, const sigset_t *set, sigset_t *old)
{
    struct g *gp = getg();
    uint64_t now, new;

    if (gp == NULL)
        return (int)sys4(SYS_rt_sigprocmask, how, A(set), A(old), 8);
    now = gp->sigmask | (uint64_t)gp->urgblocked << Urg;
    if (set != NULL) {
        memcpy(&new, set, sizeof new);
        switch (how) {
        case SIG_BLOCK: new |= now; break;
        case SIG_UNBLOCK: new = now & ~new; break;
        case SIG_SETMASK: break;
        default: return -EINVAL;
        }
        bool urg = new >> Urg & 1;

        new &= ~UNBLOCKABLE;
        /* What is opened and pending comes in here, in the kernel's order; pinned, we would put it off and
         * change the order. gp->sigmask is wrong for a moment: onurg sees that (maskknown) and does nothing. */
        if (gp->sigmask & ~new)
            sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&new), 0, 8);
        acquirem(gp);
        gp->urgblocked = urg;
        if (new != gp->sigmask || new != gp->m->sigmask) {
            bool opened = (gp->sigmask & ~new) != 0;

            gp->sigmask = new;
            if (opened)
                gp->m->sigmask = new;
            else
                setmask(gp->m, new);
            masksfirst();
            maskchanged(gp);
        }
        signal_unblocked(gp);
        releasem(gp);
    }
    if (old != NULL)
        memcpy(old, &now, sizeof now);
    return 0;
}

void
signal_maskfor(struct g *gp, const sigset_t *set)
{
    struct g *me = pin();
    uint64_t mask;

    memcpy(&mask, set, sizeof mask);
    gp->urgblocked = mask >> Urg & 1;
    gp->sigmask = mask & ~UNBLOCKABLE;
    masksfirst();
    maskchanged(gp);
    unpin(me);
}

void
signal_closing(struct g *gp)
{
    uint64_t mains = load_rlx(&signal_main->status) == Gdead ? ~UNBLOCKABLE : signal_main->sigmask;
    uint64_t last = mains & ~gp->sigmask & ~load_rlx(&idlemask);

    if (last == 0)
        return;                 /* main takes what gp does, or nobody has to be told */
    acquirem(gp);
    gp->sigmask |= last;
    setmask(gp->m, gp->sigmask);
    maskchanged(gp);
    releasem(gp);
}

int
signal_altstack(const stack_t *new, stack_t *old)
{
    struct g *gp = getg();
    int r;

    if (gp == NULL)
        return (int)sys3(SYS_sigaltstack, A(new), A(old), 0);
    acquirem(gp);
    r = (int)sys3(SYS_sigaltstack, A(new), A(old), 0);
    if (r == 0 && new != NULL) {
        if (new->ss_flags & SS_DISABLE)
            memset(&gp->altstack, 0, sizeof gp->altstack);
        else
            gp->altstack = *new;
        gp->m->altsp = gp->altstack.ss_sp;
    }
    releasem(gp);
    return r;
}

/* The program has a handler for it. */
bool
signal_caught(int sig)
{
    __sighandler_t handler = actions[sig].sa.sa_handler;

    return handler != SIG_DFL && handler != SIG_IGN;
}

/* A handler is left by a jump, perhaps: the code that it stands on, which was not to be preempted, may not go on. If it does, that is
 * set again. */
void
signal_left(struct g *gp)
{
    gp->nopreempt = false;
}

/* Before a wait that signals may end. */
void
signal_begin(struct g *gp)
{
    gp->sigran = gp->sigintr = false;
}

/* A wait was broken off. True: for nothing, or by handlers with SA_RESTART only and it is of a kind that
 * goes on then (`timed`: it is not). */
bool
signal_restarts(struct g *gp, bool timed)
{
    return !cancelnow(gp) && (!gp->sigran || (!timed && !gp->sigintr));
}

void
signal_resetactions(void)
{
    store_rlx(&actionlock.key, 0);
}

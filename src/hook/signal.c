/* Signal actions, masks and alternate stacks. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "wait/dump.h"
#include <string.h>
#include <ucontext.h>

/* Trampolines stay in place in a forked child, which is passive. */
static bool wasactive;

/* The running G was cancelled; if it asked for it at any point, that is now. */
static void
cancelasync(struct g *gp)
{
    if (!tlsasync(gp))
        return;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);       /* we do not return from the handler */
    thread_exit(PTHREAD_CANCELED);
}

void
signalinit(void)
{
    wasactive = true;
    signal_boot();
    preemptcancel = cancelasync;
    dump_boot(environ);
    deadlock_boot(environ);
    stats_boot(environ);
}

HOOK int
sigaction(int sig, const struct sigaction *restrict new, struct sigaction *restrict old)
{
    return likely(!wasactive) ? real.sigaction(sig, new, old) : signal_action(sig, new, old);
}

static _Atomic uint64_t interrupting;   /* siginterrupt asked for it: signal() does not set SA_RESTART */

static __sighandler_t
install(int sig, __sighandler_t handler, int flags)
{
    struct sigaction new, old;

    memset(&new, 0, sizeof new);
    new.sa_handler = handler;
    new.sa_flags = flags;
    if (flags & SA_RESTART)
        sigaddset(&new.sa_mask, sig);
    if (sig <= 0 || sig >= _NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (flags == SA_RESTART && (load_rlx(&interrupting) >> (sig - 1) & 1) != 0)
        new.sa_flags = 0;
    return signal_action(sig, &new, &old) < 0 ? SIG_ERR : old.sa_handler;
}

HOOK __sighandler_t
signal(int sig, __sighandler_t handler)
{
    return likely(!wasactive) ? real.signal(sig, handler) : install(sig, handler, SA_RESTART);
}

HOOK __sighandler_t
bsd_signal(int sig, __sighandler_t handler)
{
    return signal(sig, handler);
}

HOOK __sighandler_t
ssignal(int sig, __sighandler_t handler)
{
    return signal(sig, handler);
}

HOOK __sighandler_t
__sysv_signal(int sig, __sighandler_t handler)
{
    if (likely(!wasactive))
        return real.__sysv_signal(sig, handler);
    return install(sig, handler, (int)SA_RESETHAND | SA_NODEFER);
}

HOOK __sighandler_t
sysv_signal(int sig, __sighandler_t handler)
{
    return __sysv_signal(sig, handler);
}


HOOK int
siginterrupt(int sig, int flag)
{
    struct sigaction sa;

    if (!wasactive)
        return real.siginterrupt(sig, flag);
    if (sigaction(sig, NULL, &sa) < 0)
        return -1;
    if (flag) {
        atomic_fetch_or(&interrupting, UINT64_C(1) << (sig - 1));
        sa.sa_flags &= ~SA_RESTART;
    } else {
        atomic_fetch_and(&interrupting, ~(UINT64_C(1) << (sig - 1)));
        sa.sa_flags |= SA_RESTART;
    }
    return sigaction(sig, &sa, NULL);
}

HOOK int
pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return likely(active) ? -signal_mask(how, set, old) : real.pthread_sigmask(how, set, old);
}

HOOK int
sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return likely(active) ? (int)sysret(signal_mask(how, set, old)) : real.sigprocmask(how, set, old);
}

HOOK int
sigaltstack(const stack_t *restrict new, stack_t *restrict old)
{
    return likely(active) ? (int)sysret(signal_altstack(new, old)) : real.sigaltstack(new, old);
}

/* siglongjmp out of a handler restores a mask, in libc, behind our back; likewise the contexts. */
static void
masknow(const sigset_t *set)
{
    if (curg != NULL)
        signal_left(curg);      /* perhaps */
    if (active)
        signal_mask(SIG_SETMASK, set, NULL);
}

#define LONGJMP(name) \
    HOOK void \
    name(struct __jmp_buf_tag env[1], int val) \
    { \
        if (curg != NULL) \
            signal_left(curg); \
        if (env->__mask_was_saved) \
            masknow((const sigset_t *)&env->__saved_mask); \
        real.name(env, val); \
        __builtin_unreachable(); \
    }

LONGJMP(siglongjmp)
LONGJMP(longjmp)
LONGJMP(_longjmp)
LONGJMP(__longjmp_chk)

/* libc sets a context's mask in the kernel, where SIGURG, which is ours, has to stay open. masknow has noted that the program wants it
 * blocked. */
static void
keepurg(const ucontext_t *to)
{
    if (active && sigismember(&to->uc_sigmask, SIGURG) == 1)
        sigdelset((sigset_t *)(uintptr_t)&to->uc_sigmask, SIGURG);
}

/* In two steps, as it is with its mask saved before we change it. Whoever goes on with `from` comes out of getcontext again. */
HOOK int
swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
    struct g *gp = curg;
    volatile bool back = false;

    if (gp != NULL)
        gp->nopreempt = false;
    if (gp == NULL || *(const uint64_t *)(const void *)&to->uc_sigmask == gp->sigmask)
        return real.swapcontext(from, to);
    if (getcontext(from) < 0)
        return -1;
    if (back)
        return 0;
    back = true;
    masknow(&to->uc_sigmask);
    keepurg(to);
    return real.setcontext(to);
}

HOOK int
setcontext(const ucontext_t *to)
{
    if (curg != NULL)
        masknow(&to->uc_sigmask);
    keepurg(to);
    return real.setcontext(to);
}

/* ---- waiting for signals ---- */

static int
waitsignal(const sigset_t *set, siginfo_t *info, const struct timespec *ts)
{
    int r;

    cancelpoint();
    r = signal_wait(set, info, ts);
    if (r > 0 && info->si_code == SI_TKILL)
        info->si_code = SI_USER;        /* as libc does */
    if (r == -EINTR)
        cancelpoint();
    return r;
}

HOOK int
sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict ts)
{
    siginfo_t own;

    return (int)sysret(waitsignal(set, info != NULL ? info : &own, ts));
}

HOOK int
sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    return sigtimedwait(set, info, NULL);
}

HOOK int
sigwait(const sigset_t *restrict set, int *restrict sig)
{
    siginfo_t info;
    int r;

    while ((r = waitsignal(set, &info, NULL)) == -EINTR)
        ;
    if (r < 0)
        return -r;
    *sig = info.si_signo;
    return 0;
}

HOOK int
sigsuspend(const sigset_t *set)
{
    sigset_t own;
    long r;

    if (!active)
        return real.sigsuspend(set);
    cancelpoint();
    set = signal_callmask(set, &own);
    r = signal_maskedcall(set, SYS_rt_sigsuspend, A(set), 8, 0, 0, 0, 0);
    cancelpoint();
    return (int)sysret(r);
}

HOOK int
sigpending(sigset_t *set)
{
    struct g *gp = curg;
    int r = real.sigpending(set);

    if (r == 0 && gp != NULL) {
        *(uint64_t *)(void *)set |= signal_pending(gp);
        if (!signal_caught(SIGURG))     /* natively it would have been dropped; the handler there is ours */
            sigdelset(set, SIGURG);
    }
    return r;
}

/* ---- sending ---- */

static int
sendinfo(struct g *gp, siginfo_t *info)
{
    struct sigaction sa;
    int sig = info->si_signo;

    /* Not blocked and no handler: the kernel's action concerns the whole process. */
    if (!signal_blocked(gp, sig) && (gp == curg || (signal_action(sig, NULL, &sa) == 0 &&
                                                               (sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN)))) {
        gp = getg();
        return (int)-(gp != NULL ? signal_self(gp, info)
                                 : sys4(SYS_rt_tgsigqueueinfo, info->si_pid, sys3(SYS_gettid, 0, 0, 0), sig, A(info)));
    }
    return -signal_send(gp, info);
}

static void
fillinfo(siginfo_t *info, int sig, int code)
{
    memset(info, 0, sizeof *info);
    info->si_signo = sig;
    info->si_code = code;
    info->si_pid = (pid_t)sys3(SYS_getpid, 0, 0, 0);
    info->si_uid = (uid_t)sys3(SYS_getuid, 0, 0, 0);
}

static int
killg(pthread_t th, int sig, int code, const union sigval *value)
{
    struct g *gp = thread_of(th);
    siginfo_t info;
    int r;

    if (gp == NULL)
        return ESRCH;
    if (sig == 32 || sig == 33 || sig < 0 || sig >= _NSIG)
        return EINVAL;
    if (sig == 0 || (load_acq(&gp->joinstate) & Finished) != 0)
        return 0;
    fillinfo(&info, sig, code);
    if (value != NULL)
        info.si_value = *value;
    r = sendinfo(gp, &info);
    if (curg != NULL)
        preemptpoint(curg);
    return r;
}

HOOK int
pthread_kill(pthread_t th, int sig)
{
    if (!active || gof(th) == NULL)
        return real.pthread_kill(th, sig);
    return killg(th, sig, SI_TKILL, NULL);
}

HOOK int
pthread_sigqueue(pthread_t th, int sig, const union sigval value)
{
    if (!active || gof(th) == NULL)
        return real.pthread_sigqueue(th, sig, value);
    return killg(th, sig, SI_QUEUE, &value);
}

HOOK int
raise(int sig)
{
    int r;

    if (unlikely(!active) || curg == NULL)
        return real.raise(sig);
    r = killg(pthread_self(), sig, SI_TKILL, NULL);
    return r == 0 ? 0 : (int)sysret(-r);
}

/* To the own process. Linux prefers the main thread: if that is the sender, the handler has run on return, and
 * otherwise before main does anything else; the kernel knows only which kernel thread is the main one. POSIX wants
 * it to have run also if nobody but the sender takes the signal. False: the kernel shall do it. */
static bool
toself(pid_t pid, int sig, int code, const union sigval *value, int *r)
{
    struct g *gp = getg(), *main = signal_main;
    siginfo_t info;

    if (gp == NULL || sig <= 0 || sig >= _NSIG || sig == 32 || sig == 33 || pid != (pid_t)sys3(SYS_getpid, 0, 0, 0))
        return false;
    if (load_rlx(&main->status) != Gdead && !signal_blocked(main, sig))
        gp = main;
    else if (signal_blocked(gp, sig))
        return false;
    fillinfo(&info, sig, code);
    if (value != NULL)
        info.si_value = *value;
    *r = (int)sysret(-sendinfo(gp, &info));
    return true;
}

HOOK int
kill(pid_t pid, int sig)
{
    int r;

    return toself(pid, sig, SI_USER, NULL, &r) ? r : (int)sysret(sys3(SYS_kill, pid, sig, 0));
}

HOOK int
sigqueue(pid_t pid, int sig, const union sigval value)
{
    int r;

    return active && toself(pid, sig, SI_QUEUE, &value, &r) ? r : real.sigqueue(pid, sig, value);
}

long
signal_rawqueue(pid_t pid, pid_t tid, int sig, const siginfo_t *info)
{
    struct g *gp = pid == (pid_t)sys3(SYS_getpid, 0, 0, 0) ? thread_bytid(tid) : NULL;
    siginfo_t copy;

    if (gp == NULL || sig <= 0 || sig >= _NSIG || sig == 32 || sig == 33)
        return sys4(SYS_rt_tgsigqueueinfo, pid, tid, sig, A(info));
    if ((load_acq(&gp->joinstate) & Finished) != 0)
        return 0;
    copy = *info;
    copy.si_signo = sig;
    return -sendinfo(gp, &copy);
}

/* tids of Gs mean nothing to the kernel. */
HOOK int
tgkill(pid_t pid, pid_t tid, int sig)
{
    struct g *gp = NULL;

    if (active && pid == (pid_t)sys3(SYS_getpid, 0, 0, 0))
        gp = thread_bytid(tid);
    if (gp != NULL) {
        int r = killg((pthread_t)gp->tp, sig, SI_TKILL, NULL);

        return r == 0 ? 0 : (int)sysret(-r);
    }
    return (int)sysret(sys3(SYS_tgkill, pid, tid, sig));
}

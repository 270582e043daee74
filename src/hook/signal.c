/* Signal actions, masks and alternate stacks. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <string.h>
#include <ucontext.h>

/* Trampolines stay in place in a forked child, which is passive. */
static bool wasactive;

void
signalinit(void)
{
    wasactive = true;
    signal_boot();
}

HOOK int
sigaction(int sig, const struct sigaction *restrict new, struct sigaction *restrict old)
{
    return likely(!wasactive) ? real.sigaction(sig, new, old) : signal_action(sig, new, old);
}

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
    if (active)
        signal_mask(SIG_SETMASK, set, NULL);
}

#define LONGJMP(name) \
    HOOK void \
    name(struct __jmp_buf_tag env[1], int val) \
    { \
        if (env->__mask_was_saved) \
            masknow((const sigset_t *)&env->__saved_mask); \
        real.name(env, val); \
        __builtin_unreachable(); \
    }

LONGJMP(siglongjmp)
LONGJMP(longjmp)
LONGJMP(_longjmp)
LONGJMP(__longjmp_chk)

HOOK int
swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
    struct g *gp = curg;

    if (gp != NULL && *(const uint64_t *)(const void *)&to->uc_sigmask != gp->sigmask)
        masknow(&to->uc_sigmask);
    return real.swapcontext(from, to);
}

HOOK int
setcontext(const ucontext_t *to)
{
    if (curg != NULL)
        masknow(&to->uc_sigmask);
    return real.setcontext(to);
}

/* ---- waiting for signals: in the kernel, with this G's mask ---- */

HOOK int
sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict ts)
{
    siginfo_t own;
    long r;

    cancelpoint();
    r = io_syscall(true, SYS_rt_sigtimedwait, A(set), A(info != NULL ? info : &own), A(ts), 8, 0, 0);
    if (r > 0 && info != NULL && info->si_code == SI_TKILL)
        info->si_code = SI_USER;        /* as libc does */
    return (int)sysret(r);
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
    int r, saved = errno;

    while ((r = sigtimedwait(set, &info, NULL)) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return errno;
    errno = saved;
    *sig = info.si_signo;
    return 0;
}

HOOK int
sigsuspend(const sigset_t *set)
{
    cancelpoint();
    return (int)sysret(io_syscall(true, SYS_rt_sigsuspend, A(set), 8, 0, 0, 0, 0));
}

/* ---- sending: to a G, by way of the M that runs it, or any if it is parked ---- */

HOOK int
pthread_kill(pthread_t th, int sig)
{
    struct g *gp = active && gof(th) != NULL ? thread_of(th) : NULL;
    struct m *mp;

    if (gp == NULL)
        return active && gof(th) != NULL ? ESRCH : real.pthread_kill(th, sig);
    if (sig == 32 || sig == 33 || sig < 0 || sig >= _NSIG)
        return EINVAL;
    if (sig == 0)
        return 0;
    mp = gp->m != NULL ? gp->m : curg != NULL ? curg->m : &m0;
    return (int)-sys3(SYS_tgkill, sys3(SYS_getpid, 0, 0, 0), load_rlx(&mp->tid), sig);
}

HOOK int
raise(int sig)
{
    if (unlikely(!active))
        return real.raise(sig);
    return (int)sysret(sys3(SYS_tgkill, sys3(SYS_getpid, 0, 0, 0), sys3(SYS_gettid, 0, 0, 0), sig));
}

/* tids of Gs mean nothing to the kernel. */
HOOK int
tgkill(pid_t pid, pid_t tid, int sig)
{
    struct g *gp = curg;

    if (gp != NULL && tid == gp->tid && pid == (pid_t)sys3(SYS_getpid, 0, 0, 0))
        return raise(sig);
    return (int)sysret(sys3(SYS_tgkill, pid, tid, sig));
}

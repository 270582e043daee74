/* The signal functions of System V and 4.2BSD. libc's own change masks and actions behind our back. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <string.h>

/* Their prototypes are obsolescent; <signal.h> has some, and marks them so. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int __sigpause(int sigormask, int issig);
int __xpg_sigpause(int sig);

static int
maskone(int how, int sig, sigset_t *old)
{
    sigset_t set;

    sigemptyset(&set);
    return sigaddset(&set, sig) < 0 ? -1 : sigprocmask(how, &set, old);
}

HOOK int
sighold(int sig)
{
    return maskone(SIG_BLOCK, sig, NULL);
}

HOOK int
sigrelse(int sig)
{
    return maskone(SIG_UNBLOCK, sig, NULL);
}

HOOK int
sigignore(int sig)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = SIG_IGN;
    return sigaction(sig, &sa, NULL);
}

/* An action, or SIG_HOLD: blocked. What was before, likewise. */
HOOK __sighandler_t
sigset(int sig, __sighandler_t handler)
{
    struct sigaction new, was;
    sigset_t mask;

    memset(&new, 0, sizeof new);
    new.sa_handler = handler;
    if (handler == SIG_HOLD) {
        if (maskone(SIG_BLOCK, sig, &mask) < 0 || sigaction(sig, NULL, &was) < 0)
            return SIG_ERR;
    } else if (sigaction(sig, &new, &was) < 0 || maskone(SIG_UNBLOCK, sig, &mask) < 0) {
        return SIG_ERR;
    }
    return sigismember(&mask, sig) ? SIG_HOLD : was.sa_handler;
}

/* Masks of 32 signals in an int. */
static void
frombits(sigset_t *set, int bits)
{
    sigemptyset(set);
    *(uint64_t *)(void *)set = (unsigned)bits;
}

static int
tobits(const sigset_t *set)
{
    return (int)(unsigned)*(const uint64_t *)(const void *)set;
}

static int
maskbits(int how, int bits)
{
    sigset_t set, old;

    frombits(&set, bits);
    return sigprocmask(how, &set, &old) < 0 ? -1 : tobits(&old);
}

HOOK int
sigblock(int mask)
{
    return maskbits(SIG_BLOCK, mask);
}

HOOK int
sigsetmask(int mask)
{
    return maskbits(SIG_SETMASK, mask);
}

HOOK int
siggetmask(void)
{
    return sigblock(0);
}

HOOK int
__sigpause(int sigormask, int issig)
{
    sigset_t set;

    if (issig) {
        if (sigprocmask(SIG_BLOCK, NULL, &set) < 0 || sigdelset(&set, sigormask) < 0)
            return -1;
    } else {
        frombits(&set, sigormask);
    }
    return sigsuspend(&set);
}

HOOK int
__xpg_sigpause(int sig)
{
    return __sigpause(sig, 1);
}

#undef sigpause
int bsdsigpause(int mask) __asm__("sigpause");

HOOK int
bsdsigpause(int mask)
{
    return __sigpause(mask, 0);
}

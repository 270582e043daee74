/*
 * The signal functions of System V and 4.2BSD, in threads: sighold, sigrelse, sigignore, sigset, sigpause by either rule, sigblock,
 * sigsetmask, siggetmask. Each works on the mask of the calling thread only, which the other functions see.
 * sighold(3), sigset(3), sigvec(3), sigpause(3).
 */
#include "conform.h"
#include <signal.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
int bsdpause(int mask) __asm__("sigpause");

static int
maskbit(int sig)                /* sigmask(), which makes compilers complain */
{
    return 1 << (sig - 1);
}

static volatile sig_atomic_t ran;

static void
handler(int sig)
{
    ran += sig == SIGUSR1 ? 1 : 100;
}

static const char *
handlername(__sighandler_t h)
{
    return h == SIG_ERR ? "SIG_ERR" : h == SIG_DFL ? "SIG_DFL" : h == SIG_IGN ? "SIG_IGN" : h == SIG_HOLD ? "SIG_HOLD" : "handler";
}

static int
blocked(int sig)
{
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, sig);
}

static void *
holds(void *unused)
{
    sigset_t pending;

    SYS(sighold(SIGUSR1));
    printf("blocked %d %d\n", blocked(SIGUSR1), blocked(SIGUSR2));
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR1);
    sigpending(&pending);
    printf("ran %d, pending %d\n", (int)ran, sigismember(&pending, SIGUSR1));
    sched_yield();
    msleep(2);                  /* another thread runs, with its own mask */
    printf("ran %d, mask %x\n", (int)ran, (unsigned)siggetmask());
    SYS(sigrelse(SIGUSR1));
    printf("ran %d, blocked %d\n", (int)ran, blocked(SIGUSR1));
    return unused;
}

static void *
sets(void *unused)
{
    printf("%s ", handlername(sigset(SIGUSR2, SIG_HOLD)));
    printf("%s ", handlername(sigset(SIGUSR2, SIG_HOLD)));
    pthread_kill(pthread_self(), SIGUSR2);
    printf("%d ", (int)ran);
    printf("%s ", handlername(sigset(SIGUSR2, handler)));
    printf("%d ", (int)ran);
    printf("%s ", handlername(sigset(SIGUSR2, SIG_IGN)));
    pthread_kill(pthread_self(), SIGUSR2);
    printf("%s ", handlername(sigset(SIGUSR2, handler)));
    printf("%s ", handlername(sigset(SIGKILL, handler)));
    printf("%s ", handlername(sigset(0, handler)));
    printf("%s\n", handlername(sigset(1000, SIG_HOLD)));
    SYS(sigignore(SIGUSR2));
    SYS(sigignore(SIGSTOP));
    printf("%s\n", handlername(sigset(SIGUSR2, handler)));
    return unused;
}

static void *
pauses(void *sysv)
{
    int r;

    errno = 0;
    sighold(SIGUSR1);
    sighold(SIGUSR2);
    r = sysv != NULL ? sigpause(SIGUSR1) : bsdpause(maskbit(SIGUSR2));
    printf("%s pause: %d %s, ran %d, blocked %d %d\n", sysv != NULL ? "System V" : "BSD", r, errname(errno), (int)ran,
           blocked(SIGUSR1), blocked(SIGUSR2));
    return NULL;
}

static void *
bits(void *unused)
{
    printf("%x ", (unsigned)sigblock(maskbit(SIGUSR1) | maskbit(SIGHUP)));
    printf("%x ", (unsigned)sigblock(maskbit(SIGUSR2)));
    printf("%x ", (unsigned)sigsetmask(maskbit(SIGTERM)));
    printf("%x ", (unsigned)siggetmask());
    printf("%d %d\n", blocked(SIGTERM), blocked(SIGUSR1));
    return unused;
}

int
main(void)
{
    pthread_t t;

    sigset(SIGUSR1, handler);
    sigset(SIGUSR2, handler);
    join(spawn(holds, NULL));
    ran = 0;
    join(spawn(sets, NULL));
    for (int sysv = 0; sysv < 2; sysv++) {
        ran = 0;
        t = spawn(pauses, sysv ? &t : NULL);
        msleep(20);
        pthread_kill(t, SIGUSR2);       /* blocked there */
        msleep(20);
        pthread_kill(t, SIGUSR1);
        join(t);
    }
    join(spawn(bits, NULL));
    printf("main's mask %x\n", (unsigned)siggetmask());
    SYS(sighold(0));
    SYS(sigrelse(1000));
    SYS(sigpause(1000));
    return conform_status();
}

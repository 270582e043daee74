/*
 * The signal mask is per thread: inherited at creation, changed in one without effect on others, kept
 * across blocking calls; a blocked signal sent to a thread stays pending there until it opens.  POSIX
 * pthread_sigmask, sigpending.
 */
#include "conform.h"
#include <sched.h>
#include <signal.h>

enum { N = 6 };

static __thread volatile int handled;
static int wrong;

static void
handler(int sig)
{
    (void)sig;
    handled++;
}

static void
show(const char *who)
{
    static const int sig[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGURG };
    sigset_t set;
    unsigned i;

    pthread_sigmask(SIG_SETMASK, NULL, &set);
    printf("%s:", who);
    for (i = 0; i < sizeof sig / sizeof sig[0]; i++)
        printf(" %d", sigismember(&set, sig[i]));
    printf("\n");
}

static void *
inherits(void *arg)
{
    sigset_t set;

    show("inherited");
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
    msleep(2);
    show("changed");
    return arg;
}

/* Thread i blocks SIGUSR1 when odd. */
static void *
keeps(void *arg)
{
    int odd = (int)(intptr_t)arg % 2, i;
    sigset_t set, pending;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(odd ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
    for (i = 0; i < 20; i++) {
        handled = 0;
        if (i % 2)
            msleep(1);
        else
            sched_yield();
        pthread_kill(pthread_self(), SIGUSR1);
        sigpending(&pending);
        if (handled != !odd || sigismember(&pending, SIGUSR1) != odd)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (odd) {
            OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
            if (handled != 1)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
            OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
        }
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pthread_t t[N];
    sigset_t set;
    int i;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    show("start");
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    join(spawn(inherits, NULL));
    show("main");
    RC(pthread_sigmask(99, &set, NULL));
    SYS(sigprocmask(99, &set, NULL));
    for (i = 0; i < N; i++)
        t[i] = spawn(keeps, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("wrong %d\n", wrong);
    return conform_status();
}

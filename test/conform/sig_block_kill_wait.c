/*
 * A signal sent to the process just after main, and with it every thread, has blocked it is pending until
 * somebody waits for it: its default action does not happen, however the threads before ended, idled or
 * changed their masks.  POSIX 2.4.1; sigwait.
 */
#include "conform.h"
#include <signal.h>

static void *
brief(void *arg)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    if ((intptr_t)arg & 1)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    usleep(500);
    return NULL;
}

static void
several(void)
{
    pthread_t t[8];
    int i;

    for (i = 0; i < 8; i++)
        t[i] = spawn(brief, (void *)(intptr_t)i);
    for (i = 0; i < 8; i++)
        join(t[i]);
}

static void *
waiter(void *arg)
{
    int sig = 0;

    OK(sigwait(arg, &sig));
    return (void *)(intptr_t)sig;
}

int
main(void)
{
    sigset_t one, both;
    int i, sig, ok = 0;

    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    both = one;
    sigaddset(&both, SIGUSR2);
    several();
    for (i = 0; i < 20; i++) {
        OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
        CHECK(kill(getpid(), SIGUSR1) == 0);
        OK(sigwait(&one, &sig));
        ok += sig == SIGUSR1;
        OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
    }
    printf("by main: %d of 20\n", ok);
    ok = 0;
    OK(pthread_sigmask(SIG_BLOCK, &both, NULL));
    for (i = 0; i < 20; i++) {
        pthread_t t;

        several();
        t = spawn(waiter, &both);
        CHECK(kill(getpid(), SIGUSR2) == 0);
        ok += (int)(intptr_t)join(t) == SIGUSR2;
    }
    printf("by a thread: %d of 20\n", ok);
    return conform_status();
}

/*
 * The signal mask is each thread's own: inherited at creation, unchanged by others, kept over blocking; a signal
 * sent while it is blocked is pending for that thread only and handled at unblocking.  POSIX pthread_sigmask.
 */
#include "conform.h"
#include <signal.h>

static __thread volatile int handled;

static void
handler(int sig)
{
    (void)sig;
    handled++;
}

static int
blocked(int sig)
{
    sigset_t s;

    OK(pthread_sigmask(SIG_BLOCK, NULL, &s));
    return sigismember(&s, sig);
}

static int
pending(int sig)
{
    sigset_t s;

    CHECK(sigpending(&s) == 0);
    return sigismember(&s, sig);
}

static void
change(int how, int sig)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, sig);
    OK(pthread_sigmask(how, &s, NULL));
}

static void *
other(void *arg)
{
    printf("other: USR1 %d, USR2 %d\n", blocked(SIGUSR1), blocked(SIGUSR2));
    change(SIG_UNBLOCK, SIGUSR1);
    start_wait();
    start_wait();
    msleep(2);
    printf("other: USR1 blocked %d, pending %d, handled %d\n", blocked(SIGUSR1), pending(SIGUSR1), handled);
    return arg;
}

static void *
target(void *arg)
{
    start_wait();
    start_wait();
    sched_yield();
    msleep(1);
    printf("target: blocked %d, pending %d, handled %d\n", blocked(SIGUSR1), pending(SIGUSR1), handled);
    change(SIG_UNBLOCK, SIGUSR1);
    printf("target: blocked %d, pending %d, handled %d\n", blocked(SIGUSR1), pending(SIGUSR1), handled);
    return arg;
}

int
main(void)
{
    struct sigaction sa;
    pthread_t t;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
    change(SIG_BLOCK, SIGUSR1);
    start_init(2);
    t = spawn(target, NULL);
    start_wait();
    OK(pthread_kill(t, SIGUSR1));
    printf("main: pending %d\n", pending(SIGUSR1));
    start_wait();
    join(t);
    change(SIG_BLOCK, SIGUSR2);
    t = spawn(other, NULL);
    start_wait();
    raise(SIGUSR1);
    printf("main: blocked %d, pending %d, handled %d\n", blocked(SIGUSR1), pending(SIGUSR1), handled);
    start_wait();
    join(t);
    change(SIG_UNBLOCK, SIGUSR1);
    printf("main: USR1 %d, USR2 %d, handled %d\n", blocked(SIGUSR1), blocked(SIGUSR2), handled);
    return conform_status();
}

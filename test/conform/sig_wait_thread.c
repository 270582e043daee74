/*
 * The usual pattern: every thread blocks the signals and one waits with sigwait, sigwaitinfo or
 * sigtimedwait for what others send to the process or to it.  POSIX sigwait, sigtimedwait.
 */
#include "conform.h"
#include <signal.h>

static sigset_t set;
static int ready;

static const char *
name(int sig)
{
    return sig == SIGUSR1 ? "SIGUSR1" : sig == SIGUSR2 ? "SIGUSR2" : sig == SIGTERM ? "SIGTERM"
         : sig == SIGRTMIN + 1 ? "SIGRTMIN+1" : "another";
}

static void *
waiter(void *arg)
{
    struct timespec ts = { 0, 20000000 }, until, none = { 0, 0 };
    siginfo_t si;
    int sig = 0, i, n = 0;

    (void)arg;
    for (i = 0; i < 4; i++) {
        __atomic_store_n(&ready, ++n, __ATOMIC_RELEASE);
        OK(sigwait(&set, &sig));
        printf("sigwait: %s\n", name(sig));
    }
    __atomic_store_n(&ready, ++n, __ATOMIC_RELEASE);
    sig = sigwaitinfo(&set, &si);
    printf("sigwaitinfo: %s, value %d, code %s\n", name(sig), si.si_value.sival_int,
           si.si_code == SI_QUEUE ? "SI_QUEUE" : "another");
    until = after_ms(CLOCK_MONOTONIC, 20);
    SYS(sigtimedwait(&set, &si, &ts));
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    SYS(sigtimedwait(&set, NULL, &none));
    ts.tv_sec = 30;
    __atomic_store_n(&ready, ++n, __ATOMIC_RELEASE);
    printf("sigtimedwait: %s\n", name(sigtimedwait(&set, NULL, &ts)));
    return NULL;
}

static void *
killer(void *arg)
{
    CHECK(kill(getpid(), (int)(intptr_t)arg) == 0);
    return NULL;
}

static void
upto(int n)
{
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < n)
        msleep(1);
    msleep(10);
}

int
main(void)
{
    union sigval v = { .sival_int = 77 };
    pthread_t t;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGRTMIN + 1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    t = spawn(waiter, NULL);
    upto(1);
    join(spawn(killer, (void *)SIGUSR1));
    upto(2);
    OK(pthread_kill(t, SIGUSR2));
    upto(3);
    join(spawn(killer, (void *)SIGTERM));
    upto(4);
    CHECK(kill(getpid(), SIGRTMIN + 1) == 0);
    upto(5);
    CHECK(sigqueue(getpid(), SIGRTMIN + 1, v) == 0);
    upto(6);
    OK(pthread_kill(t, SIGUSR1));
    join(t);
    return conform_status();
}

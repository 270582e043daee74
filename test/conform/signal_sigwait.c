/*
 * The signal thread: all threads block the signals, one fetches those sent to the process by sigwait and
 * sigtimedwait; none is lost or handled elsewhere; EAGAIN and not early without one.  POSIX sigwait.
 */
#include "conform.h"
#include <signal.h>

static sigset_t set;
static int got[2], last;

static void *
fetches(void *arg)
{
    struct timespec ts = { 0, 20000000 }, end = after_ms(CLOCK_MONOTONIC, 20);
    siginfo_t si;
    int sig;

    SYS(sigtimedwait(&set, &si, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &end));
    start_wait();
    for (;;) {
        if (sigwait(&set, &sig) != 0)
            return NULL;
        if (sig == SIGTERM)
            break;              /* main sends no more until it sees that */
        __atomic_add_fetch(&got[sig == SIGUSR2], 1, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&last, 1, __ATOMIC_SEQ_CST);
    SYS(sigwaitinfo(&set, &si) == SIGUSR1);
    printf("from a queue: code %d, value %d\n", si.si_code == SI_QUEUE, si.si_value.sival_int);
    return arg;
}

static void *
idles(void *arg)
{
    start_wait();
    msleep(20);
    return arg;
}

int
main(void)
{
    union sigval v;
    pthread_t t[5];
    int i, k;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTERM);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    start_init(6);
    for (i = 0; i < 5; i++)
        t[i] = spawn(i == 2 ? fetches : idles, NULL);
    start_wait();
    for (i = 0; i < 40; i++) {
        k = i % 3 == 0;
        CHECK(kill(getpid(), k ? SIGUSR2 : SIGUSR1) == 0);
        while (__atomic_load_n(&got[0], __ATOMIC_SEQ_CST) + __atomic_load_n(&got[1], __ATOMIC_SEQ_CST) <= i)
            sched_yield();
    }
    CHECK(kill(getpid(), SIGTERM) == 0);
    while (!__atomic_load_n(&last, __ATOMIC_SEQ_CST))
        sched_yield();
    v.sival_int = 4711;
    CHECK(sigqueue(getpid(), SIGUSR1, v) == 0);
    for (i = 0; i < 5; i++)
        join(t[i]);
    printf("USR1 %d, USR2 %d\n", got[0], got[1]);
    return conform_status();
}

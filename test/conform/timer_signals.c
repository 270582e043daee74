/*
 * timer_create with SIGEV_SIGNAL and SIGEV_THREAD_ID: the signal carries SI_TIMER and the value; one for the
 * process is taken by the thread in sigwaitinfo; one for a thread comes to that thread, blocked in read,
 * sleeping or computing, and to no other; overruns count while it is blocked.  POSIX timer_create; Linux.
 */
#include "conform.h"
#include <signal.h>

enum { N = 3 };
#define SIG (SIGRTMIN + 1)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static __thread int mine;
static int total, value, code, stop, fd[2];
static pid_t tid[N];

static void
handler(int sig, siginfo_t *info, void *uc)
{
    (void)sig;
    (void)uc;
    mine++;
    value = info->si_value.sival_int;
    code = info->si_code;
    __atomic_add_fetch(&total, 1, __ATOMIC_RELEASE);
}

static void *
body(void *arg)
{
    intptr_t me = (intptr_t)arg;
    volatile long x = 0;
    char b;

    __atomic_store_n(&tid[me], gettid(), __ATOMIC_RELEASE);
    if (me == 0)
        while (read(fd[0], &b, 1) < 0)
            ;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        if (me == 1)
            usleep(1000);
        else
            x++;
    return (void *)(intptr_t)mine;
}

static void *
waiter(void *arg)
{
    struct itimerspec its = { { 0, 0 }, { 0, 5000000 } };
    struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 11 };
    siginfo_t info;
    sigset_t set;
    timer_t tm;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    CHECK(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0);
    CHECK(timer_settime(tm, 0, &its, NULL) == 0);
    CHECK(sigwaitinfo(&set, &info) == SIGRTMIN);
    printf("process: value %d, code %s\n", info.si_value.sival_int, info.si_code == SI_TIMER ? "SI_TIMER" : "?");
    its.it_interval.tv_nsec = 2000000;
    CHECK(timer_settime(tm, 0, &its, NULL) == 0);
    msleep(60);
    CHECK(sigwaitinfo(&set, &info) == SIGRTMIN);
    printf("overrun: %d, %d\n", info.si_overrun > 0, timer_getoverrun(tm) > 0);
    CHECK(timer_delete(tm) == 0);
    SYS(timer_gettime(tm, &its));
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct itimerspec its = { { 0, 0 }, { 0, 3000000 } };
    sigset_t set;
    pthread_t t[N];

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(sigaction(SIG, &sa, NULL) == 0 && pipe(fd) == 0);
    join(spawn(waiter, NULL));
    for (int i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++) {
        struct sigevent se = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIG, .sigev_value.sival_int = 20 + i };
        timer_t tm;

        while ((se.sigev_notify_thread_id = __atomic_load_n(&tid[i], __ATOMIC_ACQUIRE)) == 0)
            msleep(1);
        msleep(10);
        SYS(timer_create(CLOCK_MONOTONIC, &se, &tm));
        for (int k = 0; k <= i; k++) {
            int before = __atomic_load_n(&total, __ATOMIC_ACQUIRE);

            CHECK(timer_settime(tm, 0, &its, NULL) == 0);
            while (__atomic_load_n(&total, __ATOMIC_ACQUIRE) == before)
                msleep(1);
        }
        printf("thread %d: value %d, code %s\n", i, value, code == SI_TIMER ? "SI_TIMER" : "?");
        CHECK(timer_delete(tm) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    CHECK(write(fd[1], "x", 1) == 1);
    for (int i = 0; i < N; i++)
        printf("thread %d handled %ld\n", i, (long)(intptr_t)join(t[i]));
    printf("main handled %d\n", mine);
    return conform_status();
}

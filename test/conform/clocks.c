/*
 * Clocks in threads: monotonic never goes back, thread and process CPU clocks advance with work and not
 * (much) with sleep, getrusage and times agree that time was used, pthread_getcpuclockid works.  POSIX
 * clock_gettime, getrusage.
 */
#include "conform.h"
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>

enum { N = 4 };

static int backwards, failed;

/* Uses CPU time until the process clock has gone on by ms. */
static void
work(int ms)
{
    int64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + (int64_t)ms * 1000000;
    volatile unsigned long x = 0;

    while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end) {
        int i;

        for (i = 0; i < 10000; i++)
            x++;
    }
}

static void *
worker(void *arg)
{
    int64_t last = now_ns(CLOCK_MONOTONIC), t;
    struct rusage ru;
    struct timeval tv;
    int i;

    (void)arg;
    for (i = 0; i < 200; i++) {
        t = now_ns(CLOCK_MONOTONIC);
        if (t < last)
            __atomic_fetch_add(&backwards, 1, __ATOMIC_RELAXED);
        last = t;
        if (i % 20 == 0)
            msleep(1);
    }
    if (getrusage(RUSAGE_SELF, &ru) != 0 || getrusage(RUSAGE_THREAD, &ru) != 0 || gettimeofday(&tv, NULL) != 0)
        __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
measured(void *arg)
{
    int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID), after;
    clockid_t clk;

    (void)arg;
    work(20);
    after = now_ns(CLOCK_THREAD_CPUTIME_ID);
    printf("thread clock advances: %s\n", after > cpu ? "yes" : "no");
    OK(pthread_getcpuclockid(pthread_self(), &clk));
    printf("cpu clock readable: %s\n", now_ns(clk) > 0 ? "yes" : "no");
    return NULL;
}

int
main(void)
{
    struct rusage before, after;
    struct timespec res;
    struct tms tms;
    pthread_t t[N];
    int64_t cpu;
    int i;

    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, NULL);
    for (i = 0; i < N; i++)
        join(t[i]);
    join(spawn(measured, NULL));
    printf("backwards %d, failed %d\n", backwards, failed);
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    printf("process clock advances by the work: %s\n",
           now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu >= 20000000 ? "yes" : "no");
    printf("getrusage does not go back: %s\n",
           timercmp(&after.ru_utime, &before.ru_utime, >=) && after.ru_maxrss >= before.ru_maxrss ? "yes" : "no");
    printf("times, clock: %s\n", times(&tms) != (clock_t)-1 && clock() > 0 ? "yes" : "no");
    SYS(clock_getres(CLOCK_MONOTONIC, &res));
    SYS(clock_gettime(9999, &res));
    return conform_status();
}

/*
 * The CPU time of a thread is its own: by CLOCK_THREAD_CPUTIME_ID and RUSAGE_THREAD in it, and by
 * pthread_getcpuclockid from another; one that computed has at least what it measured, one that slept hardly any;
 * the process has the sum.  Only coarse comparisons.  POSIX pthread_getcpuclockid; getrusage(2).
 */
#include "conform.h"
#include <semaphore.h>
#include <sys/resource.h>

enum { MS = 1000000, N = 3 };

static sem_t done, go;
static int64_t own[N], usage[N];

static int64_t
rusage_ns(int who)
{
    struct rusage r;

    CHECK(getrusage(who, &r) == 0);
    return ((int64_t)r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000 * MS + ((int64_t)r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
}

static void *
body(void *arg)
{
    intptr_t me = (intptr_t)arg;
    volatile long x = 0;

    if (me < 2) {       /* 60 ms and 120 ms of CPU, with breaks */
        while (now_ns(CLOCK_THREAD_CPUTIME_ID) < (me + 1) * 60 * MS) {
            for (int i = 0; i < 100000; i++)
                x++;
            usleep(100);
        }
    } else {
        usleep(100000);
    }
    own[me] = now_ns(CLOCK_THREAD_CPUTIME_ID);
    usage[me] = rusage_ns(RUSAGE_THREAD);
    sem_post(&done);
    while (sem_wait(&go) != 0)
        ;
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    clockid_t clk, me;
    int64_t sum = 0, before = now_ns(CLOCK_THREAD_CPUTIME_ID);

    sem_init(&done, 0, 0);
    sem_init(&go, 0, 0);
    for (intptr_t i = 0; i < N; i++)
        t[i] = spawn(body, (void *)i);
    for (int i = 0; i < N; i++)
        while (sem_wait(&done) != 0)
            ;
    for (int i = 0; i < N; i++) {
        int64_t other;

        RC(pthread_getcpuclockid(t[i], &clk));
        other = now_ns(clk);
        sum += other;
        printf("thread %d: own %s, usage %s, from outside %s\n", i, own[i] >= 60 * MS ? "much" : "little",
               usage[i] >= 50 * MS ? "much" : "little", other >= 60 * MS ? "much" : "little");
        CHECK(other >= own[i]);
    }
    CHECK(own[1] >= 120 * MS);
    OK(pthread_getcpuclockid(pthread_self(), &me));
    printf("main: %s, by its clock %s\n", now_ns(CLOCK_THREAD_CPUTIME_ID) - before < 60 * MS ? "little" : "much",
           now_ns(me) - before < 60 * MS ? "little" : "much");
    printf("process: %s\n", now_ns(CLOCK_PROCESS_CPUTIME_ID) >= sum - 5 * MS && rusage_ns(RUSAGE_SELF) >= 170 * MS ? "the sum" : "less");
    for (int i = 0; i < N; i++)
        sem_post(&go);
    for (int i = 0; i < N; i++)
        join(t[i]);
    return conform_status();
}

/*
 * gettid() is positive, differs among live threads, does not change while a thread lives, is getpid()
 * in the main thread only; getpid() is the same everywhere; syscall(SYS_gettid) agrees.
 * gettid(2), credentials(7).
 */
#include "conform.h"
#include <sys/syscall.h>

#define N 64

static pid_t tid[N];

static void *
body(void *arg)
{
    intptr_t i = (intptr_t)arg, bad = 0;
    pid_t pid = getpid();
    int k;

    tid[i] = gettid();
    start_wait();
    for (k = 0; k < 20; k++) {
        msleep(k % 2);
        sched_yield();
        bad += gettid() != tid[i];
        bad += syscall(SYS_gettid) != tid[i];
        bad += getpid() != pid;
    }
    start_wait();
    return (void *)bad;
}

int
main(void)
{
    pthread_t t[N];
    intptr_t bad = 0;
    int i, j, same = 0, wrong = 0;

    printf("main before: tid is pid: %d\n", gettid() == getpid());
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        bad += (intptr_t)join(t[i]);
    for (i = 0; i < N; i++) {
        wrong += tid[i] <= 0 || tid[i] == getpid();
        for (j = 0; j < i; j++)
            same += tid[i] == tid[j];
    }
    printf("changed %ld, alike %d, wrong %d\n", (long)bad, same, wrong);
    printf("main after: tid is pid: %d\n", gettid() == getpid());
    return conform_status();
}

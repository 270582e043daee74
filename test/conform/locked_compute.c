/*
 * Threads with a CPU affinity or a nice value of their own that only compute, and ordinary ones: main still wakes from its sleep,
 * and a pipe still carries bytes from thread to thread.
 */
#include "conform.h"
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { HOGS = 5 };

static volatile int stop;
static int fd[2], back[2];

static void *
hog(void *arg)
{
    volatile unsigned long n = 0;
    cpu_set_t set;

    switch ((int)(intptr_t)arg % 3) {
    case 0:
        CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
        CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
        break;
    case 1: CHECK(setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5) == 0); break;
    }
    while (!stop)
        n++;
    return NULL;
}

static void *
echo(void *arg)
{
    char c;

    (void)arg;
    while (read(fd[0], &c, 1) == 1)
        CHECK(write(back[1], &c, 1) == 1);
    return NULL;
}

int
main(void)
{
    pthread_t t[HOGS], e;
    char c = 'x';

    CHECK(pipe(fd) == 0 && pipe(back) == 0);
    e = spawn(echo, NULL);
    for (intptr_t i = 0; i < HOGS; i++)
        t[i] = spawn(hog, (void *)i);
    for (int i = 0; i < 10; i++) {
        msleep(1);
        CHECK(write(fd[1], &c, 1) == 1 && read(back[0], &c, 1) == 1);
    }
    stop = 1;
    for (int i = 0; i < HOGS; i++)
        join(t[i]);
    close(fd[1]);
    join(e);
    printf("ten times there and back\n");
    return conform_status();
}

/*
 * Default stacks are as deep as native ones: with RLIMIT_STACK of 8 MiB or more, eight threads recurse
 * through 6 MiB each and yield on the way.  POSIX pthread_create, glibc's default size.
 */
#include "conform.h"
#include <sys/resource.h>

static long __attribute__((noinline))
recurse(int depth)
{
    volatile char frame[1000];

    frame[0] = (char)depth;
    frame[999] = 1;
    if (depth % 1000 == 0)
        sched_yield();
    return depth == 0 ? 0 : recurse(depth - 1) + frame[999];
}

static void *
body(void *arg)
{
    (void)arg;
    return (void *)recurse(6000);
}

int
main(void)
{
    struct rlimit rl;
    pthread_t t[8];
    int i;

    if (getrlimit(RLIMIT_STACK, &rl) != 0 || (rl.rlim_cur != RLIM_INFINITY && rl.rlim_cur < 8 << 20))
        SKIP("RLIMIT_STACK is below 8 MiB");
    for (i = 0; i < 8; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 8; i++)
        printf("%ld\n", (long)(intptr_t)join(t[i]));
    return conform_status();
}

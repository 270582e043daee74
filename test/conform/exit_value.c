/*
 * pthread_exit gives its value to the joiner, from the start routine and from forty nested frames,
 * and nothing after it runs.  POSIX pthread_exit.
 */
#include "conform.h"

static int after;

static void *
direct(void *arg)
{
    pthread_exit(arg);
    after++;
    return NULL;
}

static volatile int depth_limit = 40, endless = 100000;

static int __attribute__((noinline))
nest(int depth)
{
    volatile char pad[200];

    pad[depth] = 1;
    if (depth == depth_limit)
        pthread_exit((void *)(intptr_t)(depth * 1000));
    return depth < endless ? nest(depth + 1) + pad[depth] : 0;
}

static void *
nested(void *arg)
{
    (void)arg;
    after += nest(0);
    return NULL;
}

int
main(void)
{
    printf("direct %ld\n", (long)(intptr_t)join(spawn(direct, (void *)77)));
    printf("nested %ld\n", (long)(intptr_t)join(spawn(nested, NULL)));
    printf("PTHREAD_CANCELED itself as a value: %d\n", join(spawn(direct, PTHREAD_CANCELED)) == PTHREAD_CANCELED);
    printf("ran after pthread_exit: %d\n", after);
    return conform_status();
}

/*
 * Sixteen threads create and join threads at the same time, two hundred each.  POSIX pthread_create.
 */
#include "conform.h"

static void *
leaf(void *arg)
{
    return (void *)((intptr_t)arg + 1);
}

static void *
creator(void *arg)
{
    intptr_t sum = 0, base = (intptr_t)arg * 1000;
    int i;

    start_wait();
    for (i = 0; i < 200; i++)
        sum += (intptr_t)join(spawn(leaf, (void *)(base + i)));
    return (void *)sum;
}

int
main(void)
{
    pthread_t t[16];
    int i;

    start_init(16);
    for (i = 0; i < 16; i++)
        t[i] = spawn(creator, (void *)(intptr_t)i);
    for (i = 0; i < 16; i++)
        printf("%d: %ld\n", i, (long)(intptr_t)join(t[i]));
    return conform_status();
}

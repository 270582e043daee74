/*
 * Any thread may join any other: main creates the workers, another thread joins them.
 * POSIX pthread_join.
 */
#include "conform.h"

static pthread_t workers[10];

static void *
worker(void *arg)
{
    msleep((intptr_t)arg % 3);
    return (void *)((intptr_t)arg * (intptr_t)arg);
}

static void *
joiner(void *arg)
{
    intptr_t sum = 0;
    int i;

    for (i = 9; i >= 0; i--)
        sum += (intptr_t)join(workers[i]);
    (void)arg;
    return (void *)sum;
}

int
main(void)
{
    int i;

    for (i = 0; i < 10; i++)
        workers[i] = spawn(worker, (void *)(intptr_t)i);
    printf("sum of squares %ld\n", (long)(intptr_t)join(spawn(joiner, NULL)));
    return conform_status();
}

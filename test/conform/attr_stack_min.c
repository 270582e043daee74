/*
 * A thread with the smallest stack that the attributes accept runs, blocks and returns.
 * POSIX pthread_attr_setstacksize.
 */
#include "conform.h"
#include <limits.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *
body(void *arg)
{
    start_wait();
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    sched_yield();
    return arg;
}

int
main(void)
{
    pthread_attr_t a;
    pthread_t t[20];
    intptr_t i, sum = 0;

    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
    start_init(20);
    for (i = 0; i < 20; i++)
        OK(pthread_create(&t[i], &a, body, (void *)i));
    for (i = 0; i < 20; i++)
        sum += (intptr_t)join(t[i]);
    printf("count %d, sum %ld\n", count, (long)sum);
    return conform_status();
}

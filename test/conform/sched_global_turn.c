/*
 * A thread that comes back from a blocking call gets its turn beside threads that only yield to each other.
 */
#include "conform.h"
#include <sys/epoll.h>

static int stop;

static void *
yielder(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        sched_yield();
    return arg;
}

static void *
waiter(void *arg)
{
    struct epoll_event ev;
    int ep = epoll_create1(0), i;
    intptr_t n = 0;

    (void)arg;
    for (i = 0; i < 10; i++)
        n += epoll_wait(ep, &ev, 1, 3) == 0;
    close(ep);
    return (void *)n;
}

int
main(void)
{
    pthread_t t[3];
    int i;

    for (i = 0; i < 3; i++)
        t[i] = spawn(yielder, NULL);
    printf("waits %ld\n", (long)(intptr_t)join(spawn(waiter, NULL)));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 3; i++)
        join(t[i]);
    return conform_status();
}

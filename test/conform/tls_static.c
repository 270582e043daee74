/*
 * __thread variables start from their initialisers in every thread, zero or not, are aligned as asked (64),
 * have one address per thread and are distinct from other threads'.  ELF TLS; C11 6.7.1.
 */
#include "conform.h"
#include <sched.h>

enum { N = 20 };

static __thread int data = 1234;
static __thread long zero;
static __thread char text[] = "initial";
static __thread int *self = NULL;
static __thread struct {
    char c;
} __attribute__((aligned(64))) wide = { 'w' };
static __thread double real __attribute__((aligned(32))) = 2.5;

static int bad, *address[N];

static void *
worker(void *arg)
{
    int id = (int)(intptr_t)arg, i;

    if (data != 1234 || zero != 0 || strcmp(text, "initial") != 0 || self || wide.c != 'w' || real != 2.5)
        __atomic_fetch_or(&bad, 1, __ATOMIC_RELAXED);
    if ((uintptr_t)&wide % 64 || (uintptr_t)&real % 32)
        __atomic_fetch_or(&bad, 2, __ATOMIC_RELAXED);
    data = id;
    zero = -id;
    snprintf(text, sizeof text, "t%d", id);
    self = &data;
    wide.c = (char)id;
    real = id;
    address[id] = &data;
    start_wait();
    for (i = 0; i < 20; i++) {
        char want[8];

        if (i % 2)
            sched_yield();
        else
            msleep(1);
        snprintf(want, sizeof want, "t%d", id);
        if (data != id || zero != -id || strcmp(text, want) != 0 || wide.c != (char)id || real != id)
            __atomic_fetch_or(&bad, 4, __ATOMIC_RELAXED);
        if (self != &data)
            __atomic_fetch_or(&bad, 8, __ATOMIC_RELAXED);
    }
    start_wait();
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i, j, same = 0;

    data = 99;
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    for (i = 0; i < N; i++) {
        for (j = 0; j < i; j++)
            same += address[i] == address[j];
    }
    printf("wrong: initial %d, alignment %d, value %d, address %d; shared addresses %d; main's %d\n", bad & 1,
           bad >> 1 & 1, bad >> 2 & 1, bad >> 3 & 1, same, data);
    return conform_status();
}

/*
 * 64 KiB of thread-local data come on top of the stack: a thread with the smallest stack starts and can use
 * it, as far as natively; 50 threads have 50 copies.  ELF TLS; pthread_attr_setstacksize(3).
 */
#include "conform.h"

enum { N = 50, WORDS = 8192 };

static __thread uint64_t area[WORDS] = { 11, 22, 33 };
static __thread uint64_t zeros[64];
static int bad;

static void *
worker(void *arg)
{
    uint64_t id = (uint64_t)(intptr_t)arg;
    int i;

    if (area[0] != 11 || area[1] != 22 || area[2] != 33 || area[WORDS - 1] != 0 || zeros[63] != 0)
        __atomic_fetch_or(&bad, 1, __ATOMIC_RELAXED);
    for (i = 0; i < WORDS; i++)
        area[i] = id * WORDS + (uint64_t)i;
    memset(zeros, 0xff, sizeof zeros);
    start_wait();
    for (i = 0; i < WORDS; i++) {
        if (area[i] != id * WORDS + (uint64_t)i)
            __atomic_fetch_or(&bad, 2, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *
deep(void *arg)
{
    volatile char frame[24000];
    size_t i;

    for (i = 0; i < sizeof frame; i++)
        frame[i] = (char)i;
    area[5] = 55;
    return (void *)(intptr_t)(frame[100] + (int)area[5] + (int)(intptr_t)arg);
}

int
main(void)
{
    pthread_t t[N];
    pthread_attr_t attr;
    void *ret = NULL;
    int i;

    area[0] = 0;
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("initial values %s, values %s\n", bad & 1 ? "wrong" : "right", bad & 2 ? "wrong" : "right");
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 128 * 1024));
    OK(pthread_create(&t[0], &attr, deep, (void *)1));
    OK(pthread_join(t[0], &ret));
    printf("small stack: %ld\n", (long)(intptr_t)ret);
    return conform_status();
}

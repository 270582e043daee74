/*
 * pthread_getattr_np of a thread: locals lie inside the stack; the size is at least what was asked;
 * the stacks of live threads do not overlap; guard size and detach state come back.  glibc manual.
 */
#include "conform.h"

#define N 8

static const size_t want[N] = { 0, 65536, 131072, 1 << 20, 2 << 20, 8 << 20, 64 << 20, 300000 };
static struct { char *base; size_t size; } got[N];
static int in[N], state[N];
static size_t guard[N];

static void *
body(void *arg)
{
    intptr_t i = (intptr_t)arg;
    pthread_attr_t a;
    void *base;
    char local;

    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &base, &got[i].size));
    OK(pthread_attr_getguardsize(&a, &guard[i]));
    OK(pthread_attr_getdetachstate(&a, &state[i]));
    OK(pthread_attr_destroy(&a));
    got[i].base = (char *)base;
    in[i] = &local >= got[i].base && &local < got[i].base + got[i].size;
    start_wait();
    return NULL;
}

int
main(void)
{
    long page = sysconf(_SC_PAGESIZE);
    pthread_attr_t a;
    pthread_t t[N];
    int i, j, overlap = 0;

    start_init(N);
    for (i = 0; i < N; i++) {
        OK(pthread_attr_init(&a));
        if (want[i] != 0)
            OK(pthread_attr_setstacksize(&a, want[i]));
        if (i == 3)
            OK(pthread_attr_setguardsize(&a, 5 * page));
        OK(pthread_create(&t[i], &a, body, (void *)(intptr_t)i));
        OK(pthread_attr_destroy(&a));
    }
    for (i = 0; i < N; i++)
        join(t[i]);
    for (i = 0; i < N; i++) {
        printf("asked %zu: local inside %d, enough %d, guard pages %ld, joinable %d\n", want[i], in[i],
               got[i].size >= want[i] / page * page, (long)guard[i] / page, state[i] == PTHREAD_CREATE_JOINABLE);
        for (j = 0; j < i; j++)
            overlap += got[i].base < got[j].base + got[j].size && got[j].base < got[i].base + got[i].size;
    }
    printf("overlapping pairs %d\n", overlap);
    return conform_status();
}

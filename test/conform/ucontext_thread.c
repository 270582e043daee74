/*
 * Coroutines made with getcontext, makecontext and swapcontext inside four threads: each switches among
 * three of its own and sleeps inside them; thread-local variables stay the thread's.  makecontext(3).
 */
#include "conform.h"
#include <ucontext.h>

enum { N = 4, COROUTINES = 3, ROUNDS = 30 };

static __thread ucontext_t back, co[COROUTINES];
static __thread unsigned trace;
static __thread int owner;
static unsigned result[N];

static void
coroutine(int which, int id)
{
    int i;

    for (i = 0; i < ROUNDS; i++) {
        CHECK(owner == id);
        trace = trace * 31 + (unsigned)(which + id);
        if (i % 10 == which)
            msleep(1);
        swapcontext(&co[which], &back);
    }
}

static void *
worker(void *arg)
{
    volatile int id = (int)(intptr_t)arg, i, k;      /* getcontext returns twice */
    char *stack[COROUTINES];

    owner = id;
    for (k = 0; k < COROUTINES; k++) {
        stack[k] = malloc(65536);
        CHECK(getcontext(&co[k]) == 0);
        co[k].uc_stack.ss_sp = stack[k];
        co[k].uc_stack.ss_size = 65536;
        co[k].uc_link = &back;
        makecontext(&co[k], (void (*)(void))coroutine, 2, (int)k, (int)id);
    }
    for (i = 0; i <= ROUNDS; i++) {
        for (k = 0; k < COROUTINES; k++)
            CHECK(swapcontext(&back, &co[k]) == 0);
    }
    result[id] = trace;
    for (k = 0; k < COROUTINES; k++)
        free(stack[k]);
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++) {
        join(t[i]);
        printf("thread %d: %x\n", i, result[i]);
    }
    return conform_status();
}

/*
 * setjmp and longjmp inside threads, over frames that slept and locked; siglongjmp out of a handler
 * restores the mask; the thread can block and be joined afterwards.  POSIX longjmp, siglongjmp.
 */
#include "conform.h"
#include <setjmp.h>
#include <signal.h>

enum { N = 6, ROUNDS = 20 };

static __thread sigjmp_buf out;
static int good;

static void
handler(int sig)
{
    siglongjmp(out, sig);
}

static void __attribute__((noinline))
deep(jmp_buf env, int depth, int value)
{
    volatile char pad[100];

    pad[0] = (char)depth;
    if (value < 0)
        return;         /* never: keeps the compiler from calling it endless */
    if (depth == 0) {
        msleep(1);
        longjmp(env, value);
    }
    deep(env, depth - 1, value);
    pad[1] = pad[0];
}

static void *
worker(void *arg)
{
    volatile int i, id = (int)(intptr_t)arg, ok = 0;
    jmp_buf env;
    sigset_t set;
    int v;

    for (i = 0; i < ROUNDS; i++) {
        v = setjmp(env);
        if (v == 0)
            deep(env, 10 + i, id + 1);
        ok += v == id + 1;
        v = sigsetjmp(out, 1);
        if (v == 0) {
            raise(SIGUSR1);
            ok = -1000;
        }
        pthread_sigmask(SIG_SETMASK, NULL, &set);
        ok += v == SIGUSR1 && !sigismember(&set, SIGUSR1);
    }
    __atomic_fetch_add(&good, ok, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pthread_t t[N];
    int i;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("good jumps %d of %d\n", good, N * ROUNDS * 2);
    return conform_status();
}

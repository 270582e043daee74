/*
 * sigaltstack is per thread: none in a new thread, a handler with SA_ONSTACK runs on the stack of the
 * thread that gets the signal, also after it slept and was moved; a stack overflow is caught on it.  POSIX
 * sigaltstack; Linux sigaltstack(2).
 */
#include "conform.h"
#include <sched.h>
#include <setjmp.h>
#include <signal.h>

enum { N = 6, SIZE = 65536 };

static __thread char *volatile base;
static __thread volatile int on;
static __thread sigjmp_buf out;
static int wrong, none;

static void
handler(int sig)
{
    char here, *p = &here;
    stack_t ss;

    (void)sig;
    sigaltstack(NULL, &ss);
    on = p >= base && p < base + SIZE && (ss.ss_flags & SS_ONSTACK);
}

static void
overflowed(int sig)
{
    char here, *p = &here;

    on = p >= base && p < base + SIZE;
    siglongjmp(out, sig);
}

static void *
worker(void *arg)
{
    stack_t ss, old;
    int i;

    (void)arg;
    CHECK(sigaltstack(NULL, &old) == 0);
    if (old.ss_flags & SS_DISABLE)
        __atomic_fetch_add(&none, 1, __ATOMIC_RELAXED);
    base = malloc(SIZE);
    ss = (stack_t){ .ss_sp = base, .ss_size = SIZE };
    CHECK(sigaltstack(&ss, NULL) == 0);
    for (i = 0; i < 10; i++) {
        on = 0;
        raise(SIGUSR1);
        if (!on)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (i % 2)
            msleep(1);
        else
            sched_yield();
        CHECK(sigaltstack(NULL, &old) == 0);
        if (old.ss_sp != base || old.ss_size != SIZE || old.ss_flags != 0)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
    ss.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&ss, NULL) == 0);
    free(base);
    return NULL;
}

static int __attribute__((noinline))
recurse(int n)
{
    volatile char pad[4096];

    pad[n % 4096] = (char)n;
    return n < 0 ? 0 : recurse(n + 1) + pad[n % 4096];
}

static void *
deep(void *arg)
{
    stack_t ss;
    volatile int i;

    (void)arg;
    base = malloc(SIZE);
    ss = (stack_t){ .ss_sp = base, .ss_size = SIZE };
    CHECK(sigaltstack(&ss, NULL) == 0);
    for (i = 0; i < 2; i++) {
        int sig = sigsetjmp(out, 1);

        if (sig == 0)
            recurse(0);
        printf("overflow: %s, %s\n", sig == SIGSEGV ? "SIGSEGV" : "another", on ? "on its stack" : "elsewhere");
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    pthread_t t[N];
    int i;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, NULL);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("threads without at the start %d of %d, wrong %d\n", none, N, wrong);
    sa.sa_handler = overflowed;
    CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
    join(spawn(deep, NULL));
    return conform_status();
}

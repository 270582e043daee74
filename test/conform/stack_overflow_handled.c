/*
 * A SIGSEGV handler on the thread's own alternate stack catches the overflow of that thread's stack
 * (as language runtimes do): si_addr lies in or just below its stack, and siglongjmp recovers.  A second
 * thread does it again.  POSIX sigaltstack, sigaction.
 */
#include "conform.h"
#include <setjmp.h>
#include <signal.h>

static __thread sigjmp_buf env;
static __thread char *low, *alt;
static __thread int near_guard, on_alt;
static volatile int forever = 1;

#define ALT 65536

static void
handler(int sig, siginfo_t *si, void *uc)
{
    char local, *p = (char *)si->si_addr;

    (void)sig;
    (void)uc;
    near_guard = p >= low - 16384 && p < low + 16384;
    on_alt = &local >= alt && &local < alt + ALT;
    siglongjmp(env, 1);
}

static int __attribute__((noinline))
recurse(int depth)
{
    volatile char frame[500];

    frame[0] = (char)depth;
    return forever ? recurse(depth + 1) + frame[0] : 0;
}

static void *
body(void *arg)
{
    pthread_attr_t a;
    size_t size;
    void *base;
    stack_t ss;

    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &base, &size));
    OK(pthread_attr_destroy(&a));
    low = (char *)base;
    alt = (char *)malloc(ALT);
    memset(&ss, 0, sizeof ss);
    ss.ss_sp = alt;
    ss.ss_size = ALT;
    SYS(sigaltstack(&ss, NULL));
    if (sigsetjmp(env, 1) == 0)
        recurse(0);
    printf("recovered: near the guard %d, on the alternate stack %d\n", near_guard, on_alt);
    ss.ss_flags = SS_DISABLE;
    SYS(sigaltstack(&ss, NULL));
    free(alt);
    return arg;
}

int
main(void)
{
    struct sigaction sa;
    int i;

    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = handler;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    SYS(sigaction(SIGSEGV, &sa, NULL));
    for (i = 1; i <= 2; i++)
        printf("thread %ld\n", (long)(intptr_t)join(spawn(body, (void *)(intptr_t)i)));
    return conform_status();
}

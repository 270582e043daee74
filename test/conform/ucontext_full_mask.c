/*
 * Contexts, and frames of handlers, with masks that block all signals: the code behind computes, and other threads still have
 * their turn, on one processor too. The masks are as they were set.  getcontext(3), sigaction(2).
 */
#include "conform.h"
#include <signal.h>
#include <ucontext.h>

static volatile unsigned ticks;
static volatile int over;
static ucontext_t back, context;
static char stack[65536] __attribute__((aligned(16)));

static void *
ticker(void *unused)
{
    while (!over) {
        ticks++;
        sched_yield();
    }
    return unused;
}

/* Until the other thread was seen to run, without a call. */
static void
others(void)
{
    unsigned since = ticks;

    while (ticks - since < 3)
        ;
}

static void
show(const char *what)
{
    sigset_t set;
    int n = 0;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    for (int sig = 1; sig < 32; sig++)
        n += sigismember(&set, sig) == 1;
    printf("%s: %d of the first 31 signals blocked\n", what, n);
}

static void
body(void)
{
    others();
    show("context");
    setcontext(&back);
}

static void *
contexts(void *swap)
{
    volatile int first = 1;

    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = sizeof stack;
    context.uc_link = NULL;
    sigfillset(&context.uc_sigmask);
    makecontext(&context, body, 0);
    if (swap != NULL) {
        swapcontext(&back, &context);
    } else {
        getcontext(&back);
        if (first) {
            first = 0;
            setcontext(&context);
        }
    }
    others();
    show("back");
    return NULL;
}

static void
fill(int sig, siginfo_t *info, void *uc)
{
    (void)sig;
    (void)info;
    sigfillset(&((ucontext_t *)uc)->uc_sigmask);
}

static void *
frame(void *unused)
{
    pthread_kill(pthread_self(), SIGUSR1);
    others();
    show("behind the handler");
    return unused;
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = fill, .sa_flags = SA_SIGINFO };
    pthread_t t = spawn(ticker, NULL);

    sigaction(SIGUSR1, &sa, NULL);
    join(spawn(contexts, &t));
    join(spawn(contexts, NULL));
    join(spawn(frame, NULL));
    over = 1;
    join(t);
    return conform_status();
}

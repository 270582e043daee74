/*
 * SA_RESETHAND resets the action when the handler begins, also for a signal sent to a blocked thread, and
 * SA_NODEFER lets the handler be interrupted by its own signal; without it the second one comes after.
 * POSIX sigaction.
 */
#include "conform.h"
#include <signal.h>

static volatile sig_atomic_t depth, deepest, calls, reset;

static void
nested(int sig)
{
    int n = ++calls;

    depth++;
    deepest = depth > deepest ? depth : deepest;
    if (n < 4)
        raise(sig);
    depth--;
}

static void
once(int sig)
{
    struct sigaction sa;

    sigaction(sig, NULL, &sa);
    reset = sa.sa_handler == SIG_DFL;
    calls++;
}

static void *
raiser(void *arg)
{
    struct sigaction sa = { .sa_handler = nested, .sa_flags = SA_NODEFER };

    calls = deepest = 0;
    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
    printf("SA_NODEFER: %d calls, %d deep\n", (int)calls, (int)deepest);
    calls = deepest = 0;
    sa.sa_flags = 0;
    sigaction(SIGUSR1, &sa, NULL);
    raise(SIGUSR1);
    printf("without: %d calls, %d deep\n", (int)calls, (int)deepest);
    return arg;
}

static void *
sleeper(void *arg)
{
    while (calls == 0)
        usleep(20000);
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = once, .sa_flags = (int)SA_RESETHAND }, now;
    pthread_t t;

    raiser(NULL);
    join(spawn(raiser, NULL));
    calls = 0;
    t = spawn(sleeper, NULL);
    msleep(10);
    CHECK(sigaction(SIGUSR2, &sa, NULL) == 0);
    sigaction(SIGUSR2, NULL, &now);
    printf("SA_RESETHAND: flag %d\n", (now.sa_flags & (int)SA_RESETHAND) != 0);
    OK(pthread_kill(t, SIGUSR2));
    join(t);
    sigaction(SIGUSR2, NULL, &now);
    printf("handled %d, default inside %d, default after %d\n", (int)calls, (int)reset, now.sa_handler == SIG_DFL);
    return conform_status();
}

/*
 * Queued signals: real-time ones come with their values, the lowest number first and each in the order in
 * which they were sent, to a thread (pthread_sigqueue) and to the process (sigqueue), to a handler and to
 * sigwaitinfo; a standard one is pending once.  POSIX 2.4.2 "Realtime Signal Generation and Delivery".
 */
#include "conform.h"
#include <sched.h>
#include <signal.h>

enum { N = 40 };

static pthread_barrier_t gate;
static int seen[3 * N + 4][2], nseen;

static void
handler(int sig, siginfo_t *info, void *uc)
{
    (void)uc;
    if (nseen < 3 * N + 4) {
        seen[nseen][0] = sig;
        seen[nseen][1] = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
    }
    nseen++;
}

/* How often a signal came that should have come before its forerunner. */
static int
disorder(void)
{
    int bad = 0;

    for (int i = 1; i < nseen && i < 3 * N + 4; i++)
        bad += seen[i][0] < seen[i - 1][0] || (seen[i][0] == seen[i - 1][0] && seen[i][1] <= seen[i - 1][1]);
    return bad;
}

static void
openall(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int i = 0; i < 3; i++)
        sigaddset(&set, SIGRTMIN + i);
    OK(pthread_sigmask(how, &set, NULL));
}

static void *
waits(void *arg)
{
    sigset_t set;
    siginfo_t info;
    struct timespec zero = { 0, 0 };
    int sig;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int i = 0; i < 3; i++)
        sigaddset(&set, SIGRTMIN + i);
    pthread_barrier_wait(&gate);
    while ((sig = sigtimedwait(&set, &info, &zero)) > 0)
        handler(sig, &info, NULL);
    printf("%s: %d came, %d out of order\n", (char *)arg, nseen, disorder());
    return NULL;
}

static void *
handles(void *arg)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

    sigfillset(&sa.sa_mask);            /* or the last to be delivered would run first */
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(sigaction(SIGRTMIN + i, &sa, NULL) == 0);
    pthread_barrier_wait(&gate);
    openall(SIG_UNBLOCK);
    printf("%s: %d came, %d out of order\n", (char *)arg, nseen, disorder());
    return NULL;
}

static void
test(void *(*fn)(void *), const char *name, int toprocess)
{
    pthread_t t = spawn(fn, (void *)(uintptr_t)name);
    union sigval v;

    nseen = 0;
    for (int i = 0; i < N; i++)
        for (int k = 2; k >= 0; k--) {
            v.sival_int = i + 1;
            if (toprocess)
                CHECK(sigqueue(getpid(), SIGRTMIN + k, v) == 0);
            else
                OK(pthread_sigqueue(t, SIGRTMIN + k, v));
        }
    for (int i = 0; i < 3; i++)
        OK(toprocess ? kill(getpid(), SIGUSR1) : pthread_kill(t, SIGUSR1));
    pthread_barrier_wait(&gate);
    join(t);
}

int
main(void)
{
    openall(SIG_BLOCK);
    pthread_barrier_init(&gate, NULL, 2);
    test(waits, "thread, sigtimedwait", 0);
    test(waits, "process, sigtimedwait", 1);
    test(handles, "thread, handler", 0);
    test(handles, "process, handler", 1);
    return conform_status();
}

/*
 * raise and pthread_kill run the handler in the thread meant, before raise returns, on that thread's stack
 * and with its thread-local variables; the handler may use errno; sigaction reports what was set.  POSIX
 * raise, pthread_kill.
 */
#include "conform.h"
#include <signal.h>

enum { N = 8, ROUNDS = 25 };

static __thread volatile int mine, seen;
static int good, elsewhere;

static void
handler(int sig, siginfo_t *si, void *uc)
{
    int e = errno;

    (void)uc;
    seen = mine;
    if (sig != SIGUSR1 || si->si_signo != SIGUSR1 || si->si_pid != getpid() || si->si_code != SI_TKILL)
        __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
    errno = e;
}

static void *
worker(void *arg)
{
    int i;

    for (i = 0; i < ROUNDS; i++) {
        mine = (int)(intptr_t)arg * 100 + i + 1;
        seen = 0;
        errno = ENODEV;
        CHECK(i % 2 ? raise(SIGUSR1) == 0 : pthread_kill(pthread_self(), SIGUSR1) == 0);
        if (seen == mine && errno == ENODEV)
            __atomic_fetch_add(&good, 1, __ATOMIC_RELAXED);
        if (i % 5 == 0)
            msleep(1);
    }
    return NULL;
}

static void *
idle(void *arg)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        msleep(1);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
    pthread_t t[N];
    int stop = 0, i;

    sigaddset(&sa.sa_mask, SIGUSR2);
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("good %d of %d, wrong siginfo %d\n", good, N * ROUNDS, elsewhere);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0);
    printf("handler %s, flags%s%s, mask %d %d\n", old.sa_sigaction == handler ? "same" : "different",
           old.sa_flags & SA_SIGINFO ? " SA_SIGINFO" : "", old.sa_flags & SA_RESTART ? " SA_RESTART" : "",
           sigismember(&old.sa_mask, SIGUSR2), sigismember(&old.sa_mask, SIGUSR1));
    t[0] = spawn(idle, &stop);
    RC(pthread_kill(t[0], 0));
    RC(pthread_kill(t[0], 9999));
    SYS(raise(9999));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(t[0]);
    return conform_status();
}

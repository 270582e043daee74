/*
 * sigsuspend and pause in several threads at once: each returns when its own handler has run, with EINTR;
 * during the call the mask is the one given, also a full one but for one signal, and afterwards the old one;
 * a signal that was pending is handled at once.  POSIX sigsuspend, pause.
 */
#include "conform.h"
#include <signal.h>

enum { N = 4, ROUNDS = 50 };

static __thread int mine, usr2inside;
static int handled[N];

static void
handler(int sig)
{
    sigset_t now;

    (void)sig;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    usr2inside += sigismember(&now, SIGUSR2);
    mine++;
}

static void *
suspended(void *arg)
{
    intptr_t me = (intptr_t)arg;
    sigset_t set, now;
    int eintr = 0, blocked = 0;

    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    if (me % 2 == 0)
        sigdelset(&set, SIGUSR2);
    while (mine < ROUNDS) {
        eintr += sigsuspend(&set) == -1 && errno == EINTR;
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        blocked += sigismember(&now, SIGUSR1);
        __atomic_store_n(&handled[me], mine, __ATOMIC_RELEASE);
    }
    CHECK(eintr == ROUNDS && blocked == ROUNDS);
    return (void *)(intptr_t)usr2inside;
}

static void *
paused(void *arg)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    __atomic_store_n(&handled[0], -1, __ATOMIC_RELEASE);
    SYS(pause());
    printf("handled %d\n", mine);
    return arg;
}

static void *
pending(void *arg)
{
    sigset_t set;

    OK(pthread_kill(pthread_self(), SIGUSR1));
    CHECK(mine == 0);
    sigemptyset(&set);
    SYS(sigsuspend(&set));
    printf("handled %d\n", mine);
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pthread_t t[N];
    sigset_t set;
    int n;

    sigfillset(&set);
    OK(pthread_sigmask(SIG_SETMASK, &set, NULL));
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    for (int i = 0; i < N; i++)
        t[i] = spawn(suspended, (void *)(intptr_t)i);
    for (int k = 0; k < ROUNDS; k++)
        for (int i = 0; i < N; i++) {
            OK(pthread_kill(t[i], SIGUSR1));
            while ((n = __atomic_load_n(&handled[i], __ATOMIC_ACQUIRE)) <= k)
                sched_yield();
            CHECK(n == k + 1);
        }
    for (int i = 0; i < N; i++)
        printf("thread %d: SIGUSR2 blocked in %ld handlers\n", i, (long)(intptr_t)join(t[i]));
    t[0] = spawn(paused, NULL);
    while (__atomic_load_n(&handled[0], __ATOMIC_ACQUIRE) != -1)
        msleep(1);
    msleep(20);
    OK(pthread_kill(t[0], SIGUSR1));
    join(t[0]);
    join(spawn(pending, NULL));
    return conform_status();
}

/*
 * pthread_kill runs the handler on the thread that was named, blocked or running, and nowhere else;
 * signal 0 only asks.  POSIX pthread_kill.
 */
#include "conform.h"
#include <signal.h>

#define N 16

static __thread int mine;
static int total, stop;

static void
handler(int sig)
{
    (void)sig;
    mine++;
    __atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST);
}

static void *
body(void *arg)
{
    intptr_t i = (intptr_t)arg;
    volatile long spins = 0;

    start_wait();
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        if (i % 4 == 0)
            spins++;
        else if (i % 4 == 1)
            msleep(1);
        else if (i % 4 == 2)
            usleep(100000);     /* ends early by EINTR */
        else
            sched_yield();
    return (void *)(intptr_t)mine;
}

int
main(void)
{
    struct sigaction sa;
    pthread_t t[N];
    intptr_t sum = 0, got;
    int i, k, before, wrong = 0;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    start_init(N + 1);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)i);
    start_wait();
    RC(pthread_kill(t[0], 0));
    RC(pthread_kill(t[0], 1000));
    for (i = 0; i < N; i++)
        for (k = 0; k <= i; k++) {
            before = __atomic_load_n(&total, __ATOMIC_SEQ_CST);
            OK(pthread_kill(t[i], SIGUSR1));
            while (__atomic_load_n(&total, __ATOMIC_SEQ_CST) == before)
                sched_yield();
        }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < N; i++) {
        got = (intptr_t)join(t[i]);
        wrong += got != i + 1;
        sum += got;
    }
    printf("handled %ld, threads with a wrong count %d, main %d\n", (long)sum, wrong, mine);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    raise(SIGUSR1);
    printf("main %d\n", mine);
    return conform_status();
}

/*
 * Handlers on alternate stacks that block and that compute for long: several threads are in them at once,
 * each on its own stack, the others go on, and sigaltstack says SS_ONSTACK inside.  POSIX sigaltstack.
 */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>

enum { N = 6, SIZE = 65536 };

static __thread char *alt;
static __thread int handled, wrong;
static sem_t go, in;
static int fd[2], turns, stop;

static void
handler(int sig, siginfo_t *info, void *uc)
{
    stack_t now;
    char b;
    volatile long x = 0;
    int how = info->si_value.sival_int;

    (void)sig;
    (void)uc;
    sem_post(&in);
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_ONSTACK))
        wrong++;
    if (how == 0)
        while (sem_wait(&go) != 0)
            ;
    else if (how == 1)
        wrong += read(fd[0], &b, 1) != 1;
    else
        for (int64_t until = now_ns(CLOCK_MONOTONIC) + 60000000; now_ns(CLOCK_MONOTONIC) < until;)
            for (int i = 0; i < 10000; i++)
                x++;
    wrong += (uintptr_t)&b - (uintptr_t)alt >= SIZE;
    handled++;
}

static void *
body(void *arg)
{
    stack_t st = { .ss_sp = alt = (char *)malloc(SIZE), .ss_size = SIZE };
    int done = 0;

    CHECK(sigaltstack(&st, NULL) == 0);
    start_wait();
    while (!done) {
        usleep(1000);
        done = handled >= 3;
    }
    st.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&st, NULL) == 0);
    free(alt);
    return arg != NULL ? (void *)(intptr_t)wrong : NULL;
}

static void *
other(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
        usleep(500);
    }
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    pthread_t t[N], o;
    long bad = 0;
    int before;

    CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0 && pipe(fd) == 0);
    sem_init(&go, 0, 0);
    sem_init(&in, 0, 0);
    start_init(N + 1);
    for (int i = 0; i < N; i++)
        t[i] = spawn(body, "");
    o = spawn(other, NULL);
    start_wait();
    for (int how = 0; how < 3; how++) {
        for (int i = 0; i < N; i++)
            OK(pthread_sigqueue(t[i], SIGRTMIN, (union sigval){ .sival_int = how }));
        for (int i = 0; i < N; i++)
            while (sem_wait(&in) != 0)
                ;
        printf("all in their handlers: %d\n", how);
        before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
        while (__atomic_load_n(&turns, __ATOMIC_RELAXED) < before + 5)
            msleep(1);
        for (int i = 0; how == 0 && i < N; i++)
            sem_post(&go);
        for (int i = 0; how == 1 && i < N; i++)
            CHECK(write(fd[1], "x", 1) == 1);
    }
    for (int i = 0; i < N; i++)
        bad += (intptr_t)join(t[i]);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(o);
    printf("wrong %ld\n", bad);
    return conform_status();
}

/*
 * sem_post from a signal handler wakes a thread; sem_wait interrupted by a handler without SA_RESTART is
 * EINTR, with it it goes on.  POSIX sem_post (async-signal-safe), signal(7).
 */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>

static sem_t s, quiet;
static volatile int handled;
static int done;

static void
posts(int sig)
{
    (void)sig;
    sem_post(&s);
}

static void
counts(int sig)
{
    (void)sig;
    handled++;
}

static void *
interrupted(void *arg)
{
    int r = sem_wait(&quiet);

    printf("interrupted: %d %s\n", r, r ? errname(errno) : "0");
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    start_wait();
    return arg;
}

static void *
restarted(void *arg)
{
    int r = sem_wait(&quiet);

    printf("restarted: %d %s\n", r, r ? errname(errno) : "0");
    return arg;
}

static void *
posted(void *arg)
{
    while (sem_wait(&s) != 0)
        ;
    return arg;
}

int
main(void)
{
    struct sigaction sa;
    pthread_t t;
    int i, before;

    sem_init(&s, 0, 0);
    sem_init(&quiet, 0, 0);
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = posts;
    sa.sa_flags = SA_RESTART;
    SYS(sigaction(SIGUSR1, &sa, NULL));
    sa.sa_handler = counts;
    sa.sa_flags = 0;
    SYS(sigaction(SIGUSR2, &sa, NULL));
    t = spawn(posted, NULL);
    raise(SIGUSR1);
    printf("posted %ld\n", (long)(intptr_t)join(t));
    start_init(2);
    t = spawn(interrupted, NULL);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        OK(pthread_kill(t, SIGUSR2));   /* one before the wait is of no use: send more */
        msleep(1);
    }
    start_wait();
    join(t);
    sa.sa_flags = SA_RESTART;
    SYS(sigaction(SIGUSR2, &sa, NULL));
    t = spawn(restarted, NULL);
    for (i = 0; i < 5; i++) {
        before = handled;
        msleep(2);
        OK(pthread_kill(t, SIGUSR2));
        while (handled == before)
            sched_yield();
    }
    sem_post(&quiet);
    join(t);
    return conform_status();
}

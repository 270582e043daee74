/*
 * kill(getpid()) from a thread: the handler runs in the main thread when that does not block the signal,
 * else in one that does not; with all blocking it stays pending for the process.  The main thread is in
 * different waits. POSIX kill; signal(7).
 */
#include "conform.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>

static pthread_t mainthread, ran;
static volatile sig_atomic_t handled;
static pthread_t opener;
static int waiting;

static void
handler(int sig)
{
    (void)sig;
    ran = pthread_self();
    handled++;
}

static void *
killer(void *arg)
{
    int n = handled;

    (void)arg;
    msleep(20);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    while (handled == n)
        msleep(1);
    return NULL;
}

static const char *
where(void)
{
    return pthread_equal(ran, mainthread) ? "main"
         : pthread_equal(ran, opener) ? "the thread that has it open" : "another";
}

static void *
open1(void *arg)
{
    sigset_t set;

    (void)arg;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
    while (handled == 0)
        msleep(1);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    volatile unsigned long spins = 0;
    sigset_t set, pending, empty;
    pthread_t t;
    sem_t sem;
    char c;
    int fd[2];

    mainthread = pthread_self();
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    CHECK(pipe(fd) == 0);
    sem_init(&sem, 0, 0);

    t = spawn(killer, NULL);
    SYS(pause());
    printf("in %s\n", where());
    join(t);
    t = spawn(killer, NULL);
    SYS(poll(NULL, 0, -1));
    join(t);
    printf("in %s\n", where());
    t = spawn(killer, NULL);
    SYS(read(fd[0], &c, 1));
    join(t);
    printf("in %s\n", where());
    t = spawn(killer, NULL);
    SYS(sem_wait(&sem));
    join(t);
    printf("in %s\n", where());
    handled = 0;
    t = spawn(killer, NULL);
    join(t);
    printf("during join: in %s\n", where());
    handled = 0;
    t = spawn(killer, NULL);
    while (!handled)
        spins++;
    join(t);
    printf("while it computes: in %s\n", where());

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    handled = 0;
    opener = spawn(open1, NULL);
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE))
        msleep(1);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    join(opener);
    printf("blocked in main: in %s\n", where());

    handled = 0;
    CHECK(kill(getpid(), SIGUSR1) == 0);
    sigpending(&pending);
    printf("blocked in all: handled %d, pending %d\n", (int)handled, sigismember(&pending, SIGUSR1));
    sigemptyset(&empty);
    SYS(sigsuspend(&empty));
    printf("sigsuspend: handled %d in %s\n", (int)handled, where());
    return conform_status();
}

/*
 * A handler that waits itself (nanosleep, a write to a pipe) leaves the wait that it interrupted as it was: with
 * SA_RESTART a semaphore wait goes on, without it the wait ends with EINTR although the handler did
 * I/O.  signal(7).
 */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>

static sem_t sem;
static int pipefd[2], hits, stage;

static void
handler(int sig)
{
    struct timespec ts = { 0, 2000000 };
    int e = errno;

    nanosleep(&ts, NULL);
    if (write(pipefd[1], "x", 1) != 1)
        _exit(3);
    (void)sig;
    __atomic_add_fetch(&hits, 1, __ATOMIC_SEQ_CST);
    errno = e;
}

static void
install(int flags)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sa.sa_flags = flags;
    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
}

static void *
waiter(void *arg)
{
    intptr_t e;

    (void)arg;
    __atomic_store_n(&stage, 1, __ATOMIC_SEQ_CST);
    e = sem_wait(&sem) < 0 ? errno : 0;
    return (void *)e;
}

static void
round_of(const char *what, int flags, int signals, int post)
{
    pthread_t t;
    int i, want;

    install(flags);
    stage = 0;
    t = spawn(waiter, NULL);
    while (!__atomic_load_n(&stage, __ATOMIC_SEQ_CST))
        msleep(1);
    msleep(20);
    for (i = 0; i < signals; i++) {
        want = __atomic_load_n(&hits, __ATOMIC_SEQ_CST) + 1;
        OK(pthread_kill(t, SIGUSR1));
        while (__atomic_load_n(&hits, __ATOMIC_SEQ_CST) < want)
            msleep(1);
        msleep(5);
    }
    if (post)
        sem_post(&sem);
    printf("%s: %s\n", what, errname((int)(intptr_t)join(t)));
}

int
main(void)
{
    CHECK(pipe(pipefd) == 0);
    sem_init(&sem, 0, 0);
    round_of("restarted three times, then posted", SA_RESTART, 3, 1);
    round_of("interrupted", 0, 1, 0);
    printf("handlers %d\n", hits);
    return conform_status();
}

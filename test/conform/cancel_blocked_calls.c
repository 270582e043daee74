/*
 * Cancellation reaches a thread blocked in each of these cancellation points: sleep, nanosleep, pause,
 * sem_wait, pthread_join, read from a pipe, poll, sigwait.  A joiner that is canceled leaves its
 * target joinable.  POSIX, "Cancellation Points".
 */
#include "conform.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>

static sem_t never;
static int fd[2];
static pthread_t target;

static void *
in_sleep(void *arg)
{
    sleep(1000);
    return arg;
}

static void *
in_nanosleep(void *arg)
{
    struct timespec ts = { 1000, 0 };

    nanosleep(&ts, NULL);
    return arg;
}

static void *
in_pause(void *arg)
{
    pause();
    return arg;
}

static void *
in_sem_wait(void *arg)
{
    sem_wait(&never);
    return arg;
}

static void *
in_join(void *arg)
{
    pthread_join(target, NULL);
    return arg;
}

static void *
in_read(void *arg)
{
    char b;

    return read(fd[0], &b, 1) == 1 ? arg : NULL;
}

static void *
in_poll(void *arg)
{
    struct pollfd p = { fd[0], POLLIN, 0 };

    poll(&p, 1, -1);
    return arg;
}

static void *
in_sigwait(void *arg)
{
    sigset_t s;
    int sig;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigwait(&s, &sig);
    return arg;
}

static const struct { const char *name; void *(*fn)(void *); } call[] = {
    { "sleep", in_sleep }, { "nanosleep", in_nanosleep }, { "pause", in_pause }, { "sem_wait", in_sem_wait },
    { "pthread_join", in_join }, { "read", in_read }, { "poll", in_poll }, { "sigwait", in_sigwait },
};

int
main(void)
{
    sigset_t set;
    pthread_t t;
    size_t i;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    sem_init(&never, 0, 0);
    CHECK(pipe(fd) == 0);
    target = spawn(in_read, (void *)7);
    for (i = 0; i < sizeof call / sizeof call[0]; i++) {
        t = spawn(call[i].fn, NULL);
        msleep(10);
        OK(pthread_cancel(t));
        printf("%s: canceled %d\n", call[i].name, join(t) == PTHREAD_CANCELED);
    }
    CHECK(write(fd[1], "x", 1) == 1);
    printf("the joiner's target: %ld\n", (long)(intptr_t)join(target));
    return conform_status();
}

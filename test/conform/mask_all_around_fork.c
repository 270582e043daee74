/* A program that forks as interpreters do, with all signals blocked around it, while other threads compute, sleep
 * and have the signals open: every call returns. */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

enum { Children = 400, Sleepers = 20 };

static _Atomic int stop;

static void
handler(int sig)
{
    (void)sig;
}

static void *
sleeps(void *arg)
{
    while (!stop)
        usleep(3000);
    return arg;
}

static void *
computes(void *arg)
{
    while (!stop)
        ;
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t[Sleepers + 1];
    sigset_t all, old;
    int wrong = 0, st;

    OK(sigaction(SIGCHLD, &sa, NULL));
    for (int i = 0; i < Sleepers; i++)
        t[i] = spawn(sleeps, NULL);
    t[Sleepers] = spawn(computes, NULL);
    sigfillset(&all);
    for (int i = 0; i < Children; i++) {
        pid_t pid;

        OK(pthread_sigmask(SIG_SETMASK, &all, &old));
        pid = fork();
        if (pid == 0)
            _exit(i % 100);
        OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
        wrong += waitpid(pid, &st, 0) != pid || st != i % 100 << 8;
        usleep(1000);
    }
    stop = 1;
    for (int i = 0; i <= Sleepers; i++)
        join(t[i]);
    printf("wrong %d\n", wrong);
    return conform_status();
}

/*
 * A handler that leaves by siglongjmp, out of each kind of call that waits in the kernel: afterwards the thread is as before. It
 * gets signals from others, waits, is woken, and can be cancelled.  longjmp(3).
 */
#include "conform.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/wait.h>

enum { Sigwait, Epoll, Poll, Semop, Pause, Ppoll, Wait, Sigsuspend, Read, N };

static sigjmp_buf env;
static volatile int waiting, ran;
static volatile sig_atomic_t jump;
static int fd[2];

static void
handler(int sig)
{
    (void)sig;
    ran++;
    if (jump) {
        jump = 0;
        siglongjmp(env, 1);
    }
}

static void
waits(int how)
{
    static struct pollfd many[100];
    struct epoll_event ev;
    struct sembuf op = { 0, -1, 0 };
    sigset_t set;
    siginfo_t info;
    char c;
    int id;

    sigemptyset(&set);
    switch (how) {
    case Sigwait:
        sigaddset(&set, SIGUSR2);
        sigwaitinfo(&set, &info);
        break;
    case Epoll: epoll_wait(epoll_create1(0), &ev, 1, -1); break;
    case Poll:
        for (int i = 0; i < 100; i++)
            many[i] = (struct pollfd){ fd[0], POLLIN, 0 };
        poll(many, 100, -1);
        break;
    case Semop:
        id = semget(IPC_PRIVATE, 1, 0600);
        semctl(id, 0, SETVAL, 0);
        semop(id, &op, 1);
        break;
    case Pause: pause(); break;
    case Ppoll: ppoll(many, 1, NULL, &set); break;
    case Wait: waitpid(-1, NULL, 0); break;
    case Sigsuspend: sigsuspend(&set); break;
    case Read: CHECK(read(fd[0], &c, 1) == 1);
    }
    printf("%d came back\n", how);
}

static void *
thread(void *arg)
{
    int how = (int)(intptr_t)arg;
    sigset_t set;
    char c;

    jump = 1;
    if (sigsetjmp(env, 1) == 0) {
        waiting = 1;
        waits(how);
    }
    printf("%d: out, ran %d", how, (int)ran);
    fflush(stdout);
    waiting = 2;
    while (ran < 2)             /* main sends another */
        sched_yield();
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    printf(", again, blocked %d\n", sigismember(&set, SIGUSR1));
    CHECK(read(fd[0], &c, 1) == 1);
    waiting = 3;
    read(fd[0], &c, 1);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pid_t child = fork();
    void *r;

    if (child == 0) {
        for (;;)
            pause();
    }
    sigaction(SIGUSR1, &sa, NULL);
    CHECK(pipe(fd) == 0);
    for (intptr_t how = 0; how < N; how++) {
        pthread_t t;

        ran = waiting = 0;
        t = spawn(thread, (void *)how);
        while (waiting != 1)
            sched_yield();
        msleep(30);
        pthread_kill(t, SIGUSR1);
        while (waiting != 2)
            sched_yield();
        pthread_kill(t, SIGUSR1);
        msleep(5);
        CHECK(write(fd[1], "x", 1) == 1);
        while (waiting != 3)
            sched_yield();
        pthread_cancel(t);
        CHECK(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);
    }
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    return conform_status();
}

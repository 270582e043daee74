/*
 * A handler that stands on a blocking call does what handlers may: jumps about inside of itself, waits for another
 * thread without a system call, calls blocking functions of its own; then it returns, and the call ends or goes on as
 * signal(7) says. Kernel calls of all kinds, and calls that park.
 */
#include "conform.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { Epoll, Suspend, Wait, BigPoll, Pause, TimedWait, MaskedPoll, Message, Read, Sleep, Kinds };

static const char *const names[] = { "epoll_wait", "sigsuspend", "waitpid", "poll of many", "pause", "sigtimedwait", "ppoll with a mask",
                                     "msgrcv", "read", "nanosleep" };
static volatile unsigned ticks;
static volatile int ran, done, over;
static int fd[2], ep, queue;
static pid_t child;

static void
handler(int sig)
{
    jmp_buf env;
    struct timespec ts = { 0, 100000 };
    unsigned since = ticks;
    sigset_t mask;

    if (sig == SIGUSR1 && setjmp(env) == 0)
        longjmp(env, 1);
    while (ticks - since < 3)   /* the other thread has to run */
        ;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    ran += sigismember(&mask, sig) == 1 ? 1 : 1000;
    nanosleep(&ts, NULL);       /* its own wait, with the same words as the one below */
}

static void *
ticker(void *unused)
{
    while (!over)
        ticks++;
    return unused;
}

static void *
blocker(void *arg)
{
    int kind = (int)(intptr_t)arg, r = -1;
    struct epoll_event ev;
    struct pollfd many[100];
    struct timespec ts = { 100, 0 };
    struct { long type; char text[8]; } msg;
    siginfo_t info;
    sigset_t set;
    char c;

    sigemptyset(&set);
    errno = 0;
    switch (kind) {
    case Epoll: r = epoll_wait(ep, &ev, 1, 100000); break;
    case Suspend: r = sigsuspend(&set); break;
    case Wait: r = waitpid(child, NULL, 0); break;
    case BigPoll:
        for (int i = 0; i < 100; i++)
            many[i] = (struct pollfd){ fd[0], POLLIN, 0 };
        r = poll(many, 100, 100000);
        break;
    case Pause: r = pause(); break;
    case TimedWait:
        sigaddset(&set, SIGTERM);
        r = sigtimedwait(&set, &info, &ts);
        break;
    case MaskedPoll: r = ppoll(NULL, 0, &ts, &set); break;
    case Message: r = (int)msgrcv(queue, &msg, sizeof msg.text, 0, 0); break;
    case Read: r = (int)read(fd[0], &c, 1); break;
    case Sleep: r = nanosleep(&ts, &ts); break;
    }
    printf("%s: %d %s\n", names[kind], r, errname(errno));
    done = 1;
    return NULL;
}

static void
one(int kind, int sig)
{
    pthread_t t;

    ran = done = 0;
    t = spawn(blocker, (void *)(intptr_t)kind);
    while (!done) {             /* a handler may have run before the call had begun: then once more */
        int before = ran;

        msleep(20);
        if (!done) {
            pthread_kill(t, sig);
            while (ran == before && !done)
                msleep(1);
        }
    }
    join(t);
    CHECK(ran > 0 && ran < 1000);       /* blocked while it ran */
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pthread_t t;

    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGUSR2, &sa, NULL);
    ep = epoll_create1(0);
    queue = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
    CHECK(queue >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    child = fork();
    if (child == 0) {
        alarm(100);
        for (;;)
            pause();
    }
    t = spawn(ticker, NULL);
    for (int kind = 0; kind < Kinds; kind++) {
        one(kind, SIGUSR1);
        one(kind, SIGUSR2);
    }
    over = 1;
    join(t);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    msgctl(queue, IPC_RMID, NULL);
    return conform_status();
}

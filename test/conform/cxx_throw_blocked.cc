/*
 * A handler throws out of a blocking call; the thread catches, opens its mask again and goes on, also with further calls of
 * the kind. In the kernel natively, parked or in the kernel here.  GCC manual, -fnon-call-exceptions.
 */
#include "conform.h"
#include <csignal>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { ROUNDS = 3, KINDS = 5 };

static int fd[2], ep;
static volatile int caught, ready_, over;

static void
handler(int sig)
{
    throw sig;
}

static void
block(int kind)
{
    struct timespec ts = { 100, 0 };
    struct pollfd p = { fd[0], POLLIN, 0 };
    struct epoll_event ev;
    char c;

    switch (kind) {
    case 0: pause(); break;
    case 1: CHECK(epoll_wait(ep, &ev, 1, -1) < 0); break;
    case 2: CHECK(read(fd[0], &c, 1) < 0); break;
    case 3: nanosleep(&ts, nullptr); break;
    default: poll(&p, 1, -1);
    }
}

static void *
thread(void *arg)
{
    int kind = (int)(intptr_t)arg, n = 0;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    while (n < ROUNDS) {
        try {
            ready_ = 1;
            pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
            for (;;)
                block(kind);
        } catch (int sig) {
            n += sig == SIGUSR1;
        }
        sched_yield();
    }
    caught += n;
    over = 1;
    return nullptr;
}

int
main(void)
{
    struct sigaction sa = {};
    sigset_t set;

    sa.sa_handler = handler;
    sigaction(SIGUSR1, &sa, nullptr);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);  /* what it throws is caught inside of the try block only */
    ep = epoll_create1(0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    for (int kind = 0; kind < KINDS; kind++) {
        pthread_t t;

        over = 0;
        t = spawn(thread, (void *)(intptr_t)kind);
        while (!over) {
            msleep(10);
            if (!over)
                pthread_kill(t, SIGUSR1);
        }
        join(t);
        printf("kind %d: caught %d\n", kind, caught);
        caught = 0;
    }
    return conform_status();
}

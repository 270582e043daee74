/*
 * poll, select and epoll_wait show on a signalfd what was sent to the calling thread, before the call and during it, with a
 * time limit and without; nothing of what was sent to another thread; and what was shown can still be read.  signalfd(2).
 */
#include "conform.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

enum { Poll, Select, Epoll, N };

static sigset_t set;
static int early;               /* made before the first thread */
static volatile int step;

static int
ask(int how, int fd, int ms)
{
    struct pollfd p = { fd, POLLIN, 0 };
    struct timeval tv = { ms / 1000, ms % 1000 * 1000 };
    struct epoll_event ev = { .events = EPOLLIN };
    fd_set rd;
    int r, ep;

    switch (how) {
    case Poll: return poll(&p, 1, ms);
    case Select:
        FD_ZERO(&rd);
        FD_SET(fd, &rd);
        return select(fd + 1, &rd, NULL, NULL, ms < 0 ? NULL : &tv);
    }
    ep = epoll_create1(0);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0);
    r = epoll_wait(ep, &ev, 1, ms);
    close(ep);
    return r;
}

static void
take(int fd)
{
    struct signalfd_siginfo si = { 0 };
    ssize_t n = read(fd, &si, sizeof si);

    printf(" read %d signo %d\n", n == (ssize_t)sizeof si, si.ssi_signo == SIGUSR1);
}

static void *
thread(void *arg)
{
    int late = signalfd(-1, &set, 0);

    (void)arg;
    for (int how = 0; how < N; how++)
        for (int k = 0; k < 2; k++) {
            int fd = k ? late : early;

            printf("%d: nothing %d %d", how, ask(how, fd, 0), ask(how, fd, 10));
            pthread_kill(pthread_self(), SIGUSR1);
            printf(" own %d %d %d", ask(how, fd, 0), ask(how, fd, 10000), ask(how, fd, -1));
            take(fd);
            step++;             /* main sends one now */
            printf("%d: from another %d", how, ask(how, fd, k ? -1 : 20000));
            take(fd);
        }
    return NULL;
}

int
main(void)
{
    sigset_t none;
    pthread_t t;
    int seen = 0;

    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    early = signalfd(-1, &set, 0);
    t = spawn(thread, NULL);
    while (seen < 2 * N) {
        while (step == seen)
            msleep(1);
        msleep(20);
        seen++;
        pthread_kill(t, SIGUSR1);
        CHECK(ask(Poll, early, 0) == 0);
    }
    join(t);
    return conform_status();
}

/* An event loop of children: the handler of SIGCHLD writes to a socket that epoll_wait watches; each child is
 * seen, by vfork and by fork, while other threads come and go. */
#include "conform.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { Children = 1500 };

static int sock[2];
static _Atomic int stop;

static void
handler(int sig)
{
    char c = (char)sig;
    int e = errno;

    (void)!send(sock[1], &c, 1, MSG_DONTWAIT);
    errno = e;
}

static void *
nothing(void *arg)
{
    return arg;
}

static void *
comes_and_goes(void *arg)
{
    while (!stop) {
        join(spawn(nothing, NULL));
        usleep(500);
    }
    return arg;
}

static pid_t
child(int i)
{
    char *args[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
    pid_t pid = i % 2 == 0 ? vfork() : fork();

    if (pid == 0) {
        if (i % 4 < 2)
            execv("/bin/sh", args);
        _exit(7);
    }
    return pid;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    struct epoll_event ev = { .events = EPOLLIN };
    int ep = epoll_create1(EPOLL_CLOEXEC), lost = 0, wrong = 0;
    pthread_t t;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) == 0);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, sock[0], &ev) == 0);
    OK(sigaction(SIGCHLD, &sa, NULL));
    t = spawn(comes_and_goes, NULL);
    for (int i = 0; i < Children && lost < 3; i++) {
        pid_t pid = child(i);
        int st = 0, r;
        char buf[64];

        while ((r = epoll_wait(ep, &ev, 1, 10000)) < 0 && errno == EINTR)
            ;
        if (r == 0)
            lost++;
        else
            CHECK(recv(sock[0], buf, sizeof buf, MSG_DONTWAIT) > 0);
        wrong += waitpid(pid, &st, r == 0 ? 0 : WNOHANG) != pid || !WIFEXITED(st) || WEXITSTATUS(st) != 7;
    }
    stop = 1;
    join(t);
    printf("lost %d, wrong %d\n", lost, wrong);
    return conform_status();
}

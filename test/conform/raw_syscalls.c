/*
 * Blocking through syscall(), as language runtimes do it: read, write, poll, nanosleep, epoll_wait and
 * accept wait in one thread while the thread that wakes them runs, also when there is one processor only.
 * syscall(2).
 */
#include "conform.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

static int p[2], q[2];

static void *
echo(void *arg)
{
    char c;

    (void)arg;
    while (syscall(SYS_read, p[0], &c, 1) == 1) {
        c++;
        if (syscall(SYS_write, q[1], &c, 1) != 1)
            break;
    }
    syscall(SYS_close, q[1]);
    return NULL;
}

static void *
late(void *arg)
{
    msleep(10);
    CHECK(write(*(int *)arg, "z", 1) == 1);
    return NULL;
}

int
main(void)
{
    struct timespec ts = { 0, 10000000 }, until;
    struct epoll_event ev = { .events = EPOLLIN };
    struct pollfd pfd;
    int r[2], i, ep;
    char c = 'a';
    pthread_t t;

    CHECK(syscall(SYS_pipe2, p, 0) == 0 && pipe(q) == 0);
    t = spawn(echo, NULL);
    for (i = 0; i < 20; i++) {
        CHECK(syscall(SYS_write, p[1], &c, 1) == 1);
        CHECK(syscall(SYS_read, q[0], &c, 1) == 1);
    }
    printf("after 20 rounds: %c\n", c);
    close(p[1]);
    SYS(syscall(SYS_read, q[0], &c, 1));
    join(t);
    until = after_ms(CLOCK_MONOTONIC, 10);
    SYS(syscall(SYS_nanosleep, &ts, NULL));
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    CHECK(pipe(r) == 0);
    t = spawn(late, &r[1]);
    pfd = (struct pollfd){ r[0], POLLIN, 0 };
    SYS(syscall(SYS_poll, &pfd, 1, -1));
    join(t);
    SYS(syscall(SYS_read, r[0], &c, 1));
    ep = epoll_create1(0);
    CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, r[0], &ev) == 0);
    t = spawn(late, &r[1]);
    SYS(syscall(SYS_epoll_wait, ep, &ev, 1, -1));
    join(t);
    SYS(syscall(SYS_read, -1, &c, 1));
    SYS(syscall(SYS_getppid) == getppid());
    return conform_status();
}

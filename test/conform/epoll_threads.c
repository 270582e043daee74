/*
 * The program's own epoll: level and edge triggered, one-shot, timeout, woken from epoll_wait by another
 * thread's eventfd write, errors of epoll_ctl; two threads in one epoll_wait share the events.  epoll(7).
 */
#include "conform.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

static int ep, ev, got[2];

static void *
kick(void *arg)
{
    (void)arg;
    msleep(20);
    CHECK(eventfd_write(ev, 3) == 0);
    return NULL;
}

static void
wait1(const char *what, int ms)
{
    struct epoll_event e[4];
    int n = epoll_wait(ep, e, 4, ms), i;

    printf("%s: %d", what, n);
    for (i = 0; i < n; i++)
        printf(" %u%s%s%s", e[i].data.u32, e[i].events & EPOLLIN ? " IN" : "", e[i].events & EPOLLOUT ? " OUT" : "",
               e[i].events & EPOLLHUP ? " HUP" : "");
    printf("\n");
}

static int
ctl(int op, int fd, uint32_t events, uint32_t data)
{
    struct epoll_event e = { .events = events, .data = { .u32 = data } };

    return epoll_ctl(ep, op, fd, &e) == 0 ? 0 : errno;
}

static void *
drain(void *arg)
{
    struct epoll_event e;

    while (epoll_wait(ep, &e, 1, -1) == 1 && e.data.u32 != 9) {
        char c;

        CHECK(read(e.data.fd, &c, 1) == 1);
        __atomic_fetch_add(&got[(intptr_t)arg], 1, __ATOMIC_RELAXED);
        CHECK(ctl(EPOLL_CTL_MOD, e.data.fd, EPOLLIN | EPOLLONESHOT, (uint32_t)e.data.fd) == 0);
    }
    return NULL;
}

int
main(void)
{
    struct timespec until;
    eventfd_t v;
    pthread_t t, u;
    int p[2], q[2], i;

    ep = epoll_create1(EPOLL_CLOEXEC);
    ev = eventfd(0, 0);
    CHECK(pipe(p) == 0);
    RC(ctl(EPOLL_CTL_ADD, ev, EPOLLIN, 1));
    RC(ctl(EPOLL_CTL_ADD, ev, EPOLLIN, 1));
    RC(ctl(EPOLL_CTL_MOD, p[0], EPOLLIN, 1));
    RC(ctl(EPOLL_CTL_DEL, 9999, 0, 0));
    RC(ctl(EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLET, 2));
    t = spawn(kick, NULL);
    wait1("woken", -1);
    join(t);
    wait1("level, again", 0);
    CHECK(eventfd_read(ev, &v) == 0);
    printf("value %lu\n", (unsigned long)v);
    until = after_ms(CLOCK_MONOTONIC, 20);
    wait1("timeout", 20);
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    CHECK(write(p[1], "ab", 2) == 2);
    wait1("edge", -1);
    wait1("edge, again", 0);
    CHECK(write(p[1], "c", 1) == 1);
    wait1("edge, more", -1);
    RC(ctl(EPOLL_CTL_MOD, ev, EPOLLOUT | EPOLLONESHOT, 3));
    wait1("one-shot", -1);
    wait1("one-shot, again", 0);
    close(p[1]);
    wait1("hangup", -1);
    close(p[0]);
    wait1("closed", 0);
    CHECK(ctl(EPOLL_CTL_DEL, ev, 0, 0) == 0);

    CHECK(pipe(q) == 0);
    CHECK(ctl(EPOLL_CTL_ADD, q[0], EPOLLIN | EPOLLONESHOT, (uint32_t)q[0]) == 0);
    t = spawn(drain, (void *)0);
    u = spawn(drain, (void *)1);
    for (i = 0; i < 500; i++)
        CHECK(write(q[1], "x", 1) == 1);
    while (__atomic_load_n(&got[0], __ATOMIC_RELAXED) + __atomic_load_n(&got[1], __ATOMIC_RELAXED) < 500)
        msleep(1);
    ev = eventfd(1, 0);
    CHECK(ctl(EPOLL_CTL_ADD, ev, EPOLLIN, 9) == 0);
    join(t);
    join(u);
    printf("drained %d\n", got[0] + got[1]);
    return conform_status();
}

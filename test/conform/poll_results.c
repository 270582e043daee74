/*
 * What poll and ppoll answer: timeout, nothing to wait for, ready descriptors among many, POLLNVAL, POLLHUP,
 * POLLERR, a negative fd, no fd at all as a sleep, EINVAL.  POSIX poll; Linux poll(2).
 */
#include "conform.h"
#include <poll.h>
#include <sys/socket.h>

static void
show(const char *what, int n, const struct pollfd *p, int count)
{
    int i;

    printf("%s: %d%s%s", what, n, n < 0 ? " " : "", n < 0 ? errname(errno) : "");
    for (i = 0; i < count; i++) {
        short r = p[i].revents;

        printf(" [%s%s%s%s%s%s]", r & POLLIN ? "IN" : "", r & POLLOUT ? "OUT" : "", r & POLLHUP ? "HUP" : "",
               r & POLLERR ? "ERR" : "", r & POLLNVAL ? "NVAL" : "", r & POLLRDHUP ? "RDHUP" : "");
    }
    printf("\n");
}

static void *
body(void *arg)
{
    struct timespec until, ten = { 0, 10000000 }, bad = { 0, 1000000000 };
    struct pollfd p[4];
    int a[2], b[2], s[2];

    (void)arg;
    CHECK(pipe(a) == 0);
    CHECK(pipe(b) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);

    p[0] = (struct pollfd){ a[0], POLLIN, 77 };
    until = after_ms(CLOCK_MONOTONIC, 20);
    show("timeout", poll(p, 1, 20), p, 1);
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    show("no wait", poll(p, 1, 0), p, 1);
    until = after_ms(CLOCK_MONOTONIC, 10);
    show("ppoll timeout", ppoll(p, 1, &ten, NULL), p, 1);
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    show("ppoll bad time", ppoll(p, 1, &bad, NULL), p, 0);

    CHECK(write(b[1], "x", 1) == 1);
    p[0] = (struct pollfd){ a[0], POLLIN, 77 };
    p[1] = (struct pollfd){ b[0], POLLIN | POLLOUT, 77 };
    p[2] = (struct pollfd){ s[0], POLLIN | POLLOUT, 77 };
    p[3] = (struct pollfd){ -1, POLLIN, 77 };
    show("several", poll(p, 4, -1), p, 4);

    p[0] = (struct pollfd){ 99999, POLLIN, 0 };
    show("not open", poll(p, 1, -1), p, 1);
    p[0].fd = -5;
    show("negative only", poll(p, 1, 5), p, 1);
    until = after_ms(CLOCK_MONOTONIC, 20);
    show("no fd", poll(NULL, 0, 20), NULL, 0);
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");

    close(b[1]);
    p[0] = (struct pollfd){ b[0], POLLIN, 0 };
    show("writer gone, a byte left", poll(p, 1, -1), p, 1);
    CHECK(read(b[0], p, 0) == 0);
    p[0].events = 0;
    show("hangup without events", poll(p, 1, -1), p, 1);
    close(a[0]);
    p[0] = (struct pollfd){ a[1], POLLOUT, 0 };
    show("reader gone", poll(p, 1, -1), p, 1);
    CHECK(shutdown(s[1], SHUT_WR) == 0);
    p[0] = (struct pollfd){ s[0], POLLIN | POLLRDHUP, 0 };
    show("peer shut", poll(p, 1, -1), p, 1);
    close(s[1]);
    show("peer closed", poll(p, 1, -1), p, 1);
    p[0] = (struct pollfd){ 0, POLLIN, 0 };
    show("/dev/null", poll(p, 1, -1), p, 1);
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

/*
 * shutdown wakes who waits for datagrams, on Unix and on connected Internet sockets, and whoever comes later: 0 bytes; for
 * recvmmsg one message of none.  recv(2), shutdown(2).
 */
#include "conform.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { Recv, Recvfrom, Recvmsg, Read, Recvmmsg, N };

static int fd;

static long
receive(int how)
{
    char buf[8];
    struct iovec iov = { buf, sizeof buf };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct mmsghdr mm = { .msg_hdr = msg };

    switch (how) {
    case Recv: return recv(fd, buf, sizeof buf, 0);
    case Recvfrom: return recvfrom(fd, buf, sizeof buf, 0, NULL, NULL);
    case Recvmsg: return recvmsg(fd, &msg, 0);
    case Read: return read(fd, buf, sizeof buf);
    }
    return recvmmsg(fd, &mm, 1, 0, NULL);
}

static void *
waiter(void *arg)
{
    return (void *)receive((int)(intptr_t)arg);
}

static void
round_(const char *name, int how)
{
    pthread_t t = spawn(waiter, (void *)(intptr_t)how);
    void *r;

    msleep(20);
    CHECK(shutdown(fd, SHUT_RD) == 0);
    CHECK(pthread_join(t, &r) == 0);
    printf("%s %d: %ld, then %ld\n", name, how, (long)r, receive(how));
}

int
main(void)
{
    for (int how = 0; how < N; how++) {
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof sa;
        int pair[2];

        CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
        fd = pair[0];
        round_("unix", how);
        close(pair[0]);
        close(pair[1]);
        fd = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(bind(fd, (void *)&sa, sizeof sa) == 0 && getsockname(fd, (void *)&sa, &len) == 0);
        CHECK(connect(fd, (void *)&sa, sizeof sa) == 0);
        round_("internet", how);
        close(fd);
    }
    return conform_status();
}

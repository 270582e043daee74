/*
 * sendmsg and recvmsg block like send and recv and carry descriptors: a thread that waits in recvmsg gets
 * the reading end of a pipe and reads from it what another thread writes; MSG_CTRUNC without room.
 * POSIX sendmsg, recvmsg; Linux unix(7).
 */
#include "conform.h"
#include <sys/socket.h>
#include <sys/uio.h>

static int fd[2], p[2];

union control {
    char buf[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

static void
sendfd(int d)
{
    union control ctl;
    struct iovec v[2] = { { (char *)"ab", 2 }, { (char *)"c", 1 } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2, .msg_control = ctl.buf, .msg_controllen = sizeof ctl.buf };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    memset(&ctl, 0, sizeof ctl);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &d, sizeof d);
    CHECK(sendmsg(fd[1], &m, 0) == 3);
}

static void *
receiver(void *arg)
{
    union control ctl;
    char a[3] = "", b[8] = "", data[8] = "";
    struct iovec v[2] = { { a, 2 }, { b, 7 } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2, .msg_control = ctl.buf, .msg_controllen = sizeof ctl.buf };
    struct cmsghdr *c;
    ssize_t n;
    int d = -1;

    (void)arg;
    n = recvmsg(fd[0], &m, MSG_CMSG_CLOEXEC);
    c = CMSG_FIRSTHDR(&m);
    printf("recvmsg %zd \"%s\" \"%s\", control %s\n", n, a, b,
           c && c->cmsg_type == SCM_RIGHTS ? "SCM_RIGHTS" : "none");
    if (c)
        memcpy(&d, CMSG_DATA(c), sizeof d);
    n = read(d, data, 7);
    printf("read through it: %zd \"%s\"\n", n, data);
    m.msg_control = NULL;
    m.msg_controllen = 0;
    n = recvmsg(fd[0], &m, 0);
    printf("recvmsg without room: %zd%s\n", n, m.msg_flags & MSG_CTRUNC ? " MSG_CTRUNC" : "");
    return NULL;
}

int
main(void)
{
    pthread_t t;

    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd) == 0);
    CHECK(pipe(p) == 0);
    t = spawn(receiver, NULL);
    msleep(20);
    sendfd(p[0]);
    close(p[0]);
    msleep(20);
    CHECK(write(p[1], "through", 7) == 7);
    sendfd(p[1]);
    join(t);
    return conform_status();
}

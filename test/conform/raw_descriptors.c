/*
 * What syscall() does to a descriptor holds for the calls of libc: O_NONBLOCK by fcntl and FIONBIO, SO_RCVTIMEO, dup3 and
 * close over one that is in use, pipes in packet mode; and recvmsg, readv, select wait in one thread while another sends.
 * syscall(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

static int fd[2];

static void *
sender(void *arg)
{
    for (int i = 0; i < 3; i++) {
        msleep(10);
        CHECK(write(fd[1], arg, 1) == 1);
    }
    return NULL;
}

static void *
work(void *arg)
{
    struct timeval tv = { 0, 20000 }, second = { 20, 0 };
    int on = 1, off = 0, p[2], q[2];
    char c = 0, buf[8];
    struct iovec iov = { &c, 1 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    fd_set set;
    pthread_t t;

    (void)arg;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    SYS(syscall(SYS_fcntl, fd[0], F_SETFL, O_NONBLOCK));
    SYS(read(fd[0], &c, 1));
    SYS(syscall(SYS_fcntl, fd[0], F_SETFL, 0));
    SYS(syscall(SYS_ioctl, fd[0], FIONBIO, &on));
    SYS(recv(fd[0], &c, 1, 0));
    SYS(syscall(SYS_ioctl, fd[0], FIONBIO, &off));
    SYS(syscall(SYS_setsockopt, fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
    SYS(read(fd[0], &c, 1));
    SYS(syscall(SYS_setsockopt, fd[0], SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second));

    t = spawn(sender, (void *)(uintptr_t)"m");
    SYS(syscall(SYS_recvmsg, fd[0], &msg, 0));
    SYS(syscall(SYS_readv, fd[0], &iov, 1));
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    SYS(syscall(SYS_select, fd[0] + 1, &set, NULL, NULL, &second));
    CHECK(FD_ISSET(fd[0], &set) && second.tv_sec <= 20);
    SYS(read(fd[0], &c, 1));
    join(t);

    CHECK(syscall(SYS_pipe2, p, O_DIRECT) == 0 && pipe(q) == 0);
    CHECK(write(p[1], "abc", 3) == 3 && write(p[1], "de", 2) == 2);
    SYS(read(p[0], buf, sizeof buf));
    SYS(read(p[0], buf, sizeof buf));
    CHECK(write(q[1], "q", 1) == 1);
    CHECK(syscall(SYS_dup3, q[0], p[0], 0) == p[0]);
    SYS(read(p[0], buf, sizeof buf));
    SYS(syscall(SYS_close, p[0]));
    SYS(read(p[0], buf, sizeof buf));
    return NULL;
}

int
main(void)
{
    join(spawn(work, NULL));
    return conform_status();
}

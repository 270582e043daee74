/*
 * recvmsg with MSG_WAITALL on a TCP socket fills all pieces, however the bytes come; ends with less at the end of the stream,
 * at a time limit, and by a handler; and 60 threads that wait in it need no kernel thread each.  recv(2).
 */
#include "conform.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

enum { MANY = 60, PIECES = 40 };

static int pair[MANY][2];

static void
connected(int fd[2])
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sa;
    int l = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(bind(l, (void *)&sa, sizeof sa) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&sa, &len) == 0);
    fd[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd[1], (void *)&sa, sizeof sa) == 0);
    fd[0] = accept(l, NULL, NULL);
    CHECK(fd[0] >= 0);
    close(l);
}

static ssize_t
take(int fd, char *buf, size_t each)
{
    struct iovec iov[PIECES];
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = PIECES };

    for (size_t i = 0; i < PIECES; i++)
        iov[i] = (struct iovec){ buf + i * each, each };
    return recvmsg(fd, &msg, MSG_WAITALL);
}

static void *
receiver(void *arg)
{
    char buf[PIECES * 25];
    unsigned sum = 0;
    ssize_t n;

    errno = 0;
    n = take(*(int *)arg, buf, 25);
    for (ssize_t i = 0; i < n; i++)
        sum = sum * 31 + (unsigned char)buf[i];
    printf("%zd %s sum %u\n", n, n < 0 ? errname(errno) : "-", sum);
    return NULL;
}

static void *
quiet(void *arg)
{
    char buf[PIECES];

    CHECK(take(*(int *)arg, buf, 1) == PIECES);
    return NULL;
}

static void
nothing(int sig)
{
    (void)sig;
}

static void
feed(int fd, int n)
{
    for (int i = 0; i < n;) {
        char data[137];
        int k = n - i < 137 ? n - i : 137;

        for (int j = 0; j < k; j++)
            data[j] = (char)(i + j);
        CHECK(write(fd, data, (size_t)k) == k);
        i += k;
        msleep(1);
    }
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = nothing };
    struct timeval tv = { 0, 50000 };
    pthread_t t, all[MANY];
    int fd[2];

    sigaction(SIGUSR1, &sa, NULL);
    connected(fd);
    t = spawn(receiver, &fd[0]);
    feed(fd[1], PIECES * 25);
    join(t);
    t = spawn(receiver, &fd[0]);
    feed(fd[1], 300);
    msleep(20);
    pthread_kill(t, SIGUSR1);
    join(t);
    CHECK(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    feed(fd[1], 200);
    receiver(&fd[0]);
    receiver(&fd[0]);
    feed(fd[1], 100);
    close(fd[1]);
    receiver(&fd[0]);
    receiver(&fd[0]);
    close(fd[0]);

    for (int i = 0; i < MANY; i++) {
        connected(pair[i]);
        all[i] = spawn(quiet, &pair[i][0]);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(write(pair[i][1], "12345", 5) == 5);
    msleep(50);
    if (getenv("GOMAXPROCS") != NULL)
        CHECK(kernelthreads() < MANY / 2);
    for (int i = 0; i < MANY; i++)
        feed(pair[i][1], PIECES - 5);
    for (int i = 0; i < MANY; i++)
        join(all[i]);
    printf("%d done\n", MANY);
    return conform_status();
}

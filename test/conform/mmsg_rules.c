/*
 * recvmmsg: waits until every buffer has its message; what came before a timeout, a signal or an error counts; a limit of
 * nothing is one message, and what is left of a limit is written back. sendmmsg: all of a stream's bytes, however small the
 * socket's buffer. Cancellation ends the wait. 64 threads wait at once.  recvmmsg(2), sendmmsg(2).
 */
#include "conform.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { N = 6, BIG = 300000, MANY = 64 };

static int fd[2];
static char buf[N][16];
static struct iovec v[N];
static struct mmsghdr m[N];

static void
prepare(void)
{
    memset(m, 0, sizeof m);
    memset(buf, 0, sizeof buf);
    for (int i = 0; i < N; i++) {
        v[i] = (struct iovec){ buf[i], sizeof buf[i] - 1 };
        m[i].msg_hdr.msg_iov = &v[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
}

static void
show(const char *what, int n)
{
    printf("%s: %d%s%s", what, n, n < 0 ? " " : "", n < 0 ? errname(errno) : "");
    for (int i = 0; i < n; i++)
        printf(" %s/%u", buf[i], m[i].msg_len);
    printf("\n");
}

static void *
slowly(void *arg)
{
    long n = (long)arg;

    for (long i = 0; i < n; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "m%ld", i);

        msleep(5);
        CHECK(send(fd[1], text, (size_t)len, 0) == len);
    }
    return NULL;
}

static void
nothing(int sig)
{
    (void)sig;
}

static void *
receiver(void *arg)
{
    int n;

    (void)arg;
    prepare();
    n = recvmmsg(fd[0], m, N, 0, NULL);
    show("interrupted", n);
    return NULL;
}

static void *
drainer(void *arg)
{
    static char data[4096];
    unsigned long sum = 0, got = 0;
    ssize_t n;

    (void)arg;
    msleep(10);
    while ((n = read(fd[0], data, sizeof data)) > 0)
        for (ssize_t i = 0; i < n; i++, got++)
            sum = sum * 31 + (unsigned char)data[i];
    printf("stream: %lu bytes, sum %lu\n", got, sum);
    return NULL;
}

static void
stream(void)
{
    static char big[2][BIG];
    struct iovec iov[2] = { { big[0], BIG }, { big[1], BIG } };
    struct mmsghdr msgs[2] = { { .msg_hdr = { .msg_iov = iov, .msg_iovlen = 1 } },
                               { .msg_hdr = { .msg_iov = iov + 1, .msg_iovlen = 1 } } };
    int size = 4096;
    pthread_t t;

    for (int i = 0; i < BIG; i++)
        big[0][i] = (char)(i * 7), big[1][i] = (char)(i * 3 + 1);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    CHECK(setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
    t = spawn(drainer, NULL);
    SYS(sendmmsg(fd[1], msgs, 2, 0));
    printf("lengths %u %u\n", msgs[0].msg_len, msgs[1].msg_len);
    close(fd[1]);
    join(t);
    close(fd[0]);
}

static void *
one(void *arg)
{
    int *pair = arg;
    char a[8], b[8];
    struct iovec iov[2] = { { a, 8 }, { b, 8 } };
    struct mmsghdr msgs[2] = { { .msg_hdr = { .msg_iov = iov, .msg_iovlen = 1 } },
                               { .msg_hdr = { .msg_iov = iov + 1, .msg_iovlen = 1 } } };

    CHECK(recvmmsg(pair[0], msgs, 2, 0, NULL) == 2);
    CHECK(msgs[0].msg_len == 1 && msgs[1].msg_len == 2);
    return NULL;
}

static void
many(void)
{
    static int pair[MANY][2];
    pthread_t t[MANY];

    for (int i = 0; i < MANY; i++) {
        CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair[i]) == 0);
        t[i] = spawn(one, pair[i]);
    }
    msleep(10);
    for (int k = 1; k <= 2; k++)
        for (int i = 0; i < MANY; i++)
            CHECK(send(pair[i][1], "xy", (size_t)k, 0) == k);
    for (int i = 0; i < MANY; i++)
        join(t[i]);
    printf("many done\n");
}

static void
refused(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sa;
    int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);

    CHECK(bind(s, (struct sockaddr *)&sa, sizeof sa) == 0 && getsockname(s, (struct sockaddr *)&sa, &len) == 0);
    CHECK(connect(c, (struct sockaddr *)&sa, sizeof sa) == 0);
    close(s);
    CHECK(send(c, "x", 1, 0) == 1);     /* is answered with an error, which the next call gets */
    prepare();
    SYS(recvmmsg(c, m, N, 0, NULL));
    close(c);
}

int
main(void)
{
    struct timespec none = { 0, 0 }, second = { 1, 0 }, bad = { 0, 2000000000 };
    struct timeval tv = { 0, 200000 };
    struct sigaction sa = { .sa_handler = nothing };
    pthread_t t;
    void *r;

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
    sigaction(SIGUSR1, &sa, NULL);
    prepare();
    t = spawn(slowly, (void *)(long)N);
    show("all", recvmmsg(fd[0], m, N, 0, &second));
    CHECK(second.tv_sec == 0 && second.tv_nsec > 0 && second.tv_nsec < 1000000000);
    join(t);
    slowly((void *)3L);
    prepare();
    show("no time", recvmmsg(fd[0], m, N, 0, &none));
    prepare();
    show("what is there", recvmmsg(fd[0], m, N, MSG_WAITFORONE, NULL));
    SYS(recvmmsg(fd[0], m, N, 0, &bad));
    SYS(recvmmsg(fd[0], m, 0, 0, NULL));
    SYS(recvmmsg(-1, m, N, 0, NULL));
    SYS(sendmmsg(fd[1], m, 0, 0));

    t = spawn(receiver, NULL);
    slowly((void *)2L);
    msleep(20);
    pthread_kill(t, SIGUSR1);
    join(t);
    close(fd[0]);               /* natively it keeps the interruption as an error, which has no name */
    close(fd[1]);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
    t = spawn(receiver, NULL);
    msleep(20);
    pthread_kill(t, SIGUSR1);
    join(t);
    t = spawn(receiver, NULL);
    msleep(20);
    pthread_cancel(t);
    CHECK(pthread_join(t, &r) == 0 && r == PTHREAD_CANCELED);

    CHECK(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) == 0);
    prepare();
    slowly((void *)2L);
    show("receive timeout", recvmmsg(fd[0], m, N, 0, NULL));
    SYS(recvmmsg(fd[0], m, N, 0, NULL));
    close(fd[0]);
    close(fd[1]);
    refused();
    stream();
    many();
    return conform_status();
}

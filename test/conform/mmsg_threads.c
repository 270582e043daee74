/*
 * sendmmsg and recvmmsg: the first message is waited for, MSG_WAITFORONE returns what is there, a timeout
 * is no error, a full unix datagram queue makes send wait until it is read.  recvmmsg(2), unix(7).
 */
#include "conform.h"
#include <sys/socket.h>
#include <sys/uio.h>

enum { N = 8, MANY = 2000 };

static int fd[2];
static unsigned long sentsum;

static void *
sender(void *arg)
{
    struct mmsghdr m[N];
    struct iovec v[N];
    uint32_t value[N];
    int i, n;

    (void)arg;
    memset(m, 0, sizeof m);
    for (i = 0; i < N; i++) {
        value[i] = (uint32_t)i * 11;
        v[i] = (struct iovec){ &value[i], i < 4 ? 4 : 2 };
        m[i].msg_hdr.msg_iov = &v[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
    msleep(10);
    n = sendmmsg(fd[1], m, N, 0);
    CHECK(n == N);
    return NULL;
}

static void *
flood(void *arg)
{
    uint32_t i;

    (void)arg;
    for (i = 0; i < MANY; i++) {
        CHECK(send(fd[1], &i, sizeof i, 0) == sizeof i);
        sentsum += i;
    }
    return NULL;
}

int
main(void)
{
    struct timespec ts = { 5, 0 };
    struct mmsghdr m[N];
    struct iovec v[N];
    uint32_t value[N], x;
    unsigned long sum = 0;
    pthread_t t;
    int i, n, got = 0;

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
    memset(m, 0, sizeof m);
    memset(value, 0, sizeof value);
    for (i = 0; i < N; i++) {
        v[i] = (struct iovec){ &value[i], 4 };
        m[i].msg_hdr.msg_iov = &v[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
    t = spawn(sender, NULL);
    while (got < N) {
        n = recvmmsg(fd[0], m + got, (unsigned)(N - got), MSG_WAITFORONE, NULL);
        CHECK(n > 0);
        if (n <= 0)
            break;
        got += n;
    }
    join(t);
    printf("received");
    for (i = 0; i < got; i++)
        printf(" %u/%u", value[i], m[i].msg_len);
    printf("\n");
    SYS(recvmmsg(fd[0], m, N, MSG_DONTWAIT, NULL));
    t = spawn(sender, NULL);
    SYS(recvmmsg(fd[0], m, N, 0, &ts));
    join(t);

    t = spawn(flood, NULL);
    msleep(20);
    for (i = 0; i < MANY; i++) {
        CHECK(recv(fd[0], &x, sizeof x, 0) == sizeof x);
        CHECK(x == (uint32_t)i);
        sum += x;
    }
    join(t);
    printf("flood: sum %lu of %lu\n", sum, sentsum);
    return conform_status();
}

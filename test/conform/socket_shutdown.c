/*
 * shutdown: SHUT_WR gives the peer the end of file while the other direction lives on; SHUT_RD and
 * SHUT_RDWR wake a reader that waits on the same socket; accept on a shut listener is EINVAL.  POSIX
 * shutdown; Linux tcp(7).
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

static int fd[2];

/* A connected pair of TCP sockets. */
static void
tcppair(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    socklen_t len = sizeof sin;
    int l = socket(AF_INET, SOCK_STREAM, 0);

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 1) == 0);
    CHECK(getsockname(l, (struct sockaddr *)&sin, &len) == 0);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd[0], (struct sockaddr *)&sin, sizeof sin) == 0);
    fd[1] = accept(l, NULL, NULL);
    CHECK(fd[1] >= 0);
    close(l);
}

/* Reads to the end and answers with the count. */
static void *
counter(void *arg)
{
    char buf[16], reply[16];
    int total = 0;
    ssize_t n;

    (void)arg;
    while ((n = read(fd[1], buf, sizeof buf)) > 0)
        total += (int)n;
    snprintf(reply, sizeof reply, "%d bytes", total);
    CHECK(write(fd[1], reply, strlen(reply) + 1) > 0);
    return NULL;
}

static void *
blocked(void *arg)
{
    char c;
    ssize_t n = read(fd[0], &c, 1);

    printf("%s: read %zd %s\n", (char *)arg, n, errname(n < 0 ? errno : 0));
    return NULL;
}

static void *
accepting(void *arg)
{
    SYS(accept(*(int *)arg, NULL, NULL));
    return NULL;
}

static void
wakes(const char *name, int how)
{
    pthread_t t = spawn(blocked, (void *)name);

    msleep(20);
    CHECK(shutdown(fd[0], how) == 0);
    join(t);
    close(fd[0]);
    close(fd[1]);
}

int
main(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    char buf[16] = "";
    pthread_t t;
    int l;

    tcppair();
    t = spawn(counter, NULL);
    CHECK(write(fd[0], "0123456789", 10) == 10);
    CHECK(write(fd[0], "0123456789", 10) == 10);
    SYS(shutdown(fd[0], SHUT_WR));
    CHECK(read(fd[0], buf, sizeof buf) > 0);
    printf("answer: %s\n", buf);
    join(t);
    SYS(send(fd[0], "x", 1, MSG_NOSIGNAL));
    close(fd[0]);
    close(fd[1]);

    tcppair();
    wakes("tcp SHUT_RD", SHUT_RD);
    tcppair();
    wakes("tcp SHUT_RDWR", SHUT_RDWR);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    wakes("unix SHUT_RDWR", SHUT_RDWR);

    l = socket(AF_INET, SOCK_STREAM, 0);
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 1) == 0);
    t = spawn(accepting, &l);
    msleep(20);
    CHECK(shutdown(l, SHUT_RDWR) == 0);
    join(t);
    SYS(shutdown(l, SHUT_RDWR));
    return conform_status();
}

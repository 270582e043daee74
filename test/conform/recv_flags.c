/*
 * Flags of recv and send: MSG_PEEK leaves the bytes, MSG_WAITALL waits for all or the end, MSG_DONTWAIT
 * answers EAGAIN on a blocking socket, MSG_TRUNC tells a datagram's length, MSG_NOSIGNAL gives EPIPE only.
 * POSIX recv; Linux recv(2).
 */
#include "conform.h"
#include <signal.h>
#include <sys/socket.h>

static int fd[2];

/* Sends "abcdef" in three parts with pauses. */
static void *
slowly(void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < 3; i++) {
        msleep(10);
        CHECK(send(fd[1], &"abcdef"[2 * i], 2, 0) == 2);
    }
    return NULL;
}

static void *
half(void *arg)
{
    (void)arg;
    CHECK(send(fd[1], "gh", 2, 0) == 2);
    msleep(10);
    CHECK(shutdown(fd[1], SHUT_WR) == 0);
    return NULL;
}

static void
show(const char *what, ssize_t n, const char *buf)
{
    printf("%s: %zd", what, n);
    if (n < 0)
        printf(" %s\n", errname(errno));
    else
        printf(" \"%.*s\"\n", (int)(n > 8 ? 8 : n), buf);
}

int
main(void)
{
    char buf[16] = "";
    static char big[262144];
    pthread_t t;
    ssize_t n;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    t = spawn(slowly, NULL);
    show("peek", recv(fd[0], buf, 1, MSG_PEEK), buf);
    show("waitall", recv(fd[0], buf, 6, MSG_WAITALL), buf);
    join(t);
    show("dontwait", recv(fd[0], buf, 6, MSG_DONTWAIT), buf);
    show("dontwait peek", recv(fd[0], buf, 6, MSG_DONTWAIT | MSG_PEEK), buf);
    t = spawn(half, NULL);
    show("waitall to the end", recv(fd[0], buf, 6, MSG_WAITALL), buf);
    join(t);
    show("after the end", recv(fd[0], buf, 6, 0), buf);
    do
        n = send(fd[0], big, sizeof big, MSG_DONTWAIT);
    while (n > 0);
    show("send dontwait", n, "");
    close(fd[1]);
    show("nosignal", send(fd[0], "x", 1, MSG_NOSIGNAL), "");
    close(fd[0]);

    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0);
    CHECK(send(fd[1], "1234567", 7, 0) == 7);
    CHECK(send(fd[1], "1234567", 7, 0) == 7);
    CHECK(send(fd[1], "", 0, 0) == 0);
    CHECK(send(fd[1], "end", 3, 0) == 3);
    show("datagram cut", recv(fd[0], buf, 3, 0), buf);
    n = recv(fd[0], buf, 3, MSG_TRUNC);
    printf("its length: %zd\n", n);
    show("empty datagram", recv(fd[0], buf, 3, 0), buf);
    show("next", recv(fd[0], buf, 8, 0), buf);
    return conform_status();
}

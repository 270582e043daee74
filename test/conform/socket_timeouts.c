/*
 * SO_RCVTIMEO and SO_SNDTIMEO: recv, read, accept and send that wait longer answer EAGAIN, not earlier than
 * the time set; data in time is delivered; 0 means no limit again.  POSIX setsockopt; socket(7).
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

static int fd[2];

static void
limit(int s, int opt, int ms)
{
    struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

    CHECK(setsockopt(s, SOL_SOCKET, opt, &tv, sizeof tv) == 0);
}

#define NOTEARLY(ms, call)                                                          \
    do {                                                                            \
        struct timespec until_ = after_ms(CLOCK_MONOTONIC, ms);                     \
        SYS(call);                                                                  \
        printf("    %s\n", reached(CLOCK_MONOTONIC, &until_) ? "not early" : "early");   \
    } while (0)

static void *
writer(void *arg)
{
    msleep((int)(intptr_t)arg);
    CHECK(write(fd[1], "x", 1) == 1);
    return NULL;
}

static void *
body(void *arg)
{
    static char big[1 << 20];
    struct sockaddr_in sin = { .sin_family = AF_INET };
    pthread_t t;
    char c;
    int l;

    (void)arg;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    limit(fd[0], SO_RCVTIMEO, 30);
    NOTEARLY(30, recv(fd[0], &c, 1, 0));
    NOTEARLY(30, read(fd[0], &c, 1));
    NOTEARLY(30, recv(fd[0], &c, 1, MSG_PEEK));
    limit(fd[0], SO_RCVTIMEO, 10000);
    t = spawn(writer, (void *)20);
    SYS(read(fd[0], &c, 1));
    join(t);
    limit(fd[0], SO_RCVTIMEO, 0);
    t = spawn(writer, (void *)60);
    SYS(recv(fd[0], &c, 1, 0));
    join(t);

    limit(fd[0], SO_SNDTIMEO, 30);
    while (send(fd[0], big, sizeof big, MSG_DONTWAIT) > 0)
        ;
    NOTEARLY(30, send(fd[0], big, sizeof big, 0));
    NOTEARLY(30, write(fd[0], big, 1));

    l = socket(AF_INET, SOCK_STREAM, 0);
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 1) == 0);
    limit(l, SO_RCVTIMEO, 30);
    NOTEARLY(30, accept(l, NULL, NULL));
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

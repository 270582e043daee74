/*
 * 8 MiB over TCP in both directions at once, with a reader and a writer thread on each end of one
 * connection: all arrives in order, writes return their whole length.  POSIX send, recv.
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { TOTAL = 4 << 20, PIECE = 100000 };

static int fd[2];

static unsigned char
byte(size_t at, int side)
{
    return (unsigned char)(at * 31 + at / 1021 + (size_t)side);
}

static void *
writer(void *arg)
{
    static char bufs[2][PIECE];
    int side = (int)(intptr_t)arg;
    char *buf = bufs[side];
    size_t at = 0, n, i;

    while (at < TOTAL) {
        n = TOTAL - at < PIECE ? TOTAL - at : PIECE;
        for (i = 0; i < n; i++)
            buf[i] = (char)byte(at + i, side);
        CHECK(write(fd[side], buf, n) == (ssize_t)n);
        at += n;
    }
    CHECK(shutdown(fd[side], SHUT_WR) == 0);
    return NULL;
}

static void *
reader(void *arg)
{
    static unsigned char bufs[2][60000];
    int side = (int)(intptr_t)arg;
    unsigned char *buf = bufs[side];
    size_t at = 0, wrong = 0;
    ssize_t n, i;

    while ((n = read(fd[side], buf, sizeof bufs[0])) > 0) {
        for (i = 0; i < n; i++, at++)
            wrong += buf[i] != byte(at, !side);
    }
    CHECK(n == 0 && wrong == 0);
    return (void *)at;
}

int
main(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    socklen_t len = sizeof sin;
    pthread_t r[2], w[2];
    int l = socket(AF_INET, SOCK_STREAM, 0), i;

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 1) == 0);
    CHECK(getsockname(l, (struct sockaddr *)&sin, &len) == 0);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd[0], (struct sockaddr *)&sin, sizeof sin) == 0);
    fd[1] = accept(l, NULL, NULL);
    for (i = 0; i < 2; i++) {
        r[i] = spawn(reader, (void *)(intptr_t)i);
        w[i] = spawn(writer, (void *)(intptr_t)i);
    }
    for (i = 0; i < 2; i++) {
        join(w[i]);
        printf("end %d received %lu\n", i, (unsigned long)join(r[i]));
    }
    return conform_status();
}

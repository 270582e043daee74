/*
 * Two threads hand a counter to and fro over a socketpair, for stream, datagram and seqpacket sockets:
 * no message is lost or doubled.  POSIX socketpair, send, recv.
 */
#include "conform.h"
#include <sys/socket.h>

enum { ROUNDS = 2000 };

static int fd[2];

static void *
echo(void *arg)
{
    uint32_t v;
    int i;

    (void)arg;
    for (i = 0; i < ROUNDS; i++) {
        CHECK(recv(fd[1], &v, sizeof v, 0) == sizeof v);
        v = v * 3 + 1;
        CHECK(send(fd[1], &v, sizeof v, 0) == sizeof v);
    }
    return NULL;
}

int
main(void)
{
    static const struct { int type; const char *name; } kind[] = {
        { SOCK_STREAM, "stream" }, { SOCK_DGRAM, "datagram" }, { SOCK_SEQPACKET, "seqpacket" },
    };
    unsigned k;

    for (k = 0; k < 3; k++) {
        uint32_t v = 1;
        pthread_t t;
        int i;

        CHECK(socketpair(AF_UNIX, kind[k].type, 0, fd) == 0);
        t = spawn(echo, NULL);
        for (i = 0; i < ROUNDS; i++) {
            CHECK(write(fd[0], &v, sizeof v) == sizeof v);
            CHECK(read(fd[0], &v, sizeof v) == sizeof v);
            v ^= (uint32_t)i;
        }
        join(t);
        printf("%s: %u\n", kind[k].name, (unsigned)v);
        close(fd[0]);
        close(fd[1]);
    }
    return conform_status();
}

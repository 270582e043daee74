/*
 * A description that the program made non-blocking answers EAGAIN instead of waiting, however the flag was
 * set: pipe2, SOCK_NONBLOCK, accept4, fcntl, FIONBIO, or through a dup after the fd had been used for
 * blocking; and blocks again when it is cleared.  POSIX fcntl, read, write, accept.
 */
#include "conform.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void *
writex(void *arg)
{
    msleep(20);
    CHECK(write(*(int *)arg, "x", 1) == 1);
    return NULL;
}

/* A blocking read of one byte that another thread writes. */
static void
blocking(int r, int w)
{
    pthread_t t = spawn(writex, &w);
    char c;

    SYS(read(r, &c, 1));
    join(t);
}

static int
listener(int type, struct sockaddr_in *sin)
{
    socklen_t len = sizeof *sin;
    int s = socket(AF_INET, type, 0);

    memset(sin, 0, sizeof *sin);
    sin->sin_family = AF_INET;
    sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(s, (struct sockaddr *)sin, sizeof *sin) == 0);
    CHECK(listen(s, 8) == 0);
    CHECK(getsockname(s, (struct sockaddr *)sin, &len) == 0);
    return s;
}

static void *
body(void *arg)
{
    struct sockaddr_in sin;
    int p[2], s[2], on = 1, off = 0, d, l, c, a;
    static char buf[65536];
    char ch;

    (void)arg;
    printf("pipe2\n");
    CHECK(pipe2(p, O_NONBLOCK) == 0);
    SYS(read(p[0], &ch, 1));
    while (write(p[1], buf, sizeof buf) > 0)
        ;
    SYS(write(p[1], buf, 1));
    close(p[0]);
    close(p[1]);

    printf("fcntl\n");
    CHECK(pipe(p) == 0);
    blocking(p[0], p[1]);
    CHECK(fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
    SYS(read(p[0], &ch, 1));
    CHECK(fcntl(p[0], F_SETFL, 0) == 0);
    blocking(p[0], p[1]);

    printf("FIONBIO\n");
    CHECK(ioctl(p[0], FIONBIO, &on) == 0);
    SYS(read(p[0], &ch, 1));
    CHECK(ioctl(p[0], FIONBIO, &off) == 0);
    blocking(p[0], p[1]);

    printf("through a dup\n");
    d = dup(p[0]);
    CHECK(fcntl(d, F_SETFL, O_NONBLOCK) == 0);
    SYS(read(p[0], &ch, 1));
    CHECK(fcntl(d, F_SETFL, 0) == 0);
    blocking(p[0], p[1]);
    close(d);

    printf("SOCK_NONBLOCK\n");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) == 0);
    SYS(read(s[0], &ch, 1));
    SYS(recv(s[0], &ch, 1, 0));
    CHECK(fcntl(s[0], F_SETFL, 0) == 0);
    blocking(s[0], s[1]);

    printf("accept4\n");
    l = listener(SOCK_STREAM | SOCK_NONBLOCK, &sin);
    SYS(accept(l, NULL, NULL));
    CHECK(fcntl(l, F_SETFL, 0) == 0);
    c = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(c, (struct sockaddr *)&sin, sizeof sin) == 0);
    a = accept4(l, NULL, NULL, SOCK_NONBLOCK);
    SYS(read(a, &ch, 1));
    printf("listener %s, connection %s\n", fcntl(l, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking",
           fcntl(a, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking");
    CHECK(fcntl(a, F_SETFL, 0) == 0);
    blocking(a, c);
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

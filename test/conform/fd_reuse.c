/*
 * A descriptor that was used for blocking, closed and opened anew as something else has the same number and
 * blocks and wakes as the new thing: pipe, socket, eventfd, pipe; closed by close, dup2 or fclose.
 * POSIX close, dup2, fclose.
 */
#include "conform.h"
#include <sys/eventfd.h>
#include <sys/socket.h>

static int first;

static void *
writer(void *arg)
{
    uint64_t v = 0x0101010101010101;

    msleep(10);
    CHECK(write(*(int *)arg, &v, sizeof v) == sizeof v);
    return NULL;
}

/* Blocks in a read of r until another thread writes to w. */
static void
use(const char *what, int r, int w)
{
    pthread_t t = spawn(writer, &w);
    unsigned char buf[16];
    ssize_t n = read(r, buf, sizeof buf);

    printf("%s: fd +%d, read %zd, first byte %d\n", what, r - first, n, n > 0 ? buf[0] : -1);
    join(t);
}

static void *
body(void *arg)
{
    char buf[16];
    FILE *f;
    int fd[2], s[2], e;
    pthread_t t;

    (void)arg;
    CHECK(pipe(fd) == 0);
    first = fd[0];
    use("pipe", fd[0], fd[1]);
    close(fd[0]);
    close(fd[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    use("socket", fd[0], fd[1]);
    close(fd[0]);
    close(fd[1]);
    e = eventfd(0, 0);
    use("eventfd", e, e);
    close(e);
    CHECK(pipe(fd) == 0);
    use("pipe again", fd[0], fd[1]);

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    CHECK(dup2(s[0], fd[0]) == fd[0]);
    close(s[0]);
    use("dup2 of a socket over the pipe", fd[0], s[1]);
    close(fd[1]);
    CHECK(pipe(s) == 0);
    CHECK(dup3(s[0], fd[0], 0) == fd[0]);
    use("dup3 of a pipe over the socket", fd[0], s[1]);
    use("its original", s[0], s[1]);
    close(s[0]);
    use("after the original was closed", fd[0], s[1]);

    f = fdopen(fd[0], "r");
    CHECK(f != NULL);
    t = spawn(writer, &s[1]);
    CHECK(fread(buf, 1, 8, f) == 8);
    join(t);
    fclose(f);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    use("socket after fclose", fd[0], fd[1]);
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

/*
 * Blocking calls leave the flags of a description alone: F_GETFL of a pipe, a socket, an eventfd and
 * standard input and output is the same before and after, and during the wait.  POSIX fcntl.
 */
#include "conform.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static const char *
flags(int fd)
{
    int f = fcntl(fd, F_GETFL);

    return f < 0 ? "error" : f & O_NONBLOCK ? "nonblocking" : "blocking";
}

static void *
reader(void *arg)
{
    char buf[8];

    CHECK(read(*(int *)arg, buf, sizeof buf) > 0);
    return NULL;
}

static void
use(const char *name, int r, int w)
{
    int before = fcntl(r, F_GETFL), beforew = fcntl(w, F_GETFL);
    uint64_t one = 1;
    pthread_t t = spawn(reader, &r);

    msleep(20);
    printf("%s: waiting %s %s", name, flags(r), flags(w));
    CHECK(write(w, &one, sizeof one) == sizeof one);
    join(t);
    printf(", after %s %s, %s\n", flags(r), flags(w),
           before == fcntl(r, F_GETFL) && beforew == fcntl(w, F_GETFL) ? "unchanged" : "changed");
}

int
main(void)
{
    struct pollfd pfd = { 0, POLLIN, 0 };
    int fd[2], oldin, in = fcntl(0, F_GETFL), out = fcntl(1, F_GETFL);
    char c;

    CHECK(pipe(fd) == 0);
    use("pipe", fd[0], fd[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    use("socket", fd[0], fd[1]);
    fd[0] = eventfd(0, 0);
    use("eventfd", fd[0], fd[0]);
    SYS(read(0, &c, 0));
    CHECK(pipe(fd) == 0);
    oldin = dup(0);
    CHECK(dup2(fd[0], 0) == 0);
    use("pipe as stdin", 0, fd[1]);
    CHECK(dup2(oldin, 0) == 0);
    CHECK(poll(&pfd, 1, 0) >= 0);
    fflush(stdout);
    printf("stdin %s, stdout %s\n", in == fcntl(0, F_GETFL) ? "unchanged" : "changed",
           out == fcntl(1, F_GETFL) ? "unchanged" : "changed");
    return conform_status();
}

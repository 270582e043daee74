/*
 * RLIMIT_NOFILE holds for the program: with the limit at 64 it can open as many descriptors as natively, then
 * open, pipe, socket, dup and accept are EMFILE, while blocking calls go on working.
 * POSIX getrlimit, open.
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int p[2];

static void *
writer(void *arg)
{
    (void)arg;
    msleep(20);
    CHECK(write(p[1], "x", 1) == 1);
    return NULL;
}

static void *
body(void *arg)
{
    struct rlimit rl;
    pthread_t t;
    int fd, last = -1, q[2];
    char c;

    (void)arg;
    CHECK(pipe(p) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &rl) == 0);
    rl.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &rl) == 0);
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        last = fd;
    printf("last fd %d, then %s\n", last, errname(errno));
    SYS(pipe(q));
    SYS(socket(AF_UNIX, SOCK_STREAM, 0));
    SYS(dup(0));
    SYS(fcntl(0, F_DUPFD, 64));
    SYS(dup2(0, 64));
    t = spawn(writer, NULL);
    SYS(read(p[0], &c, 1));
    join(t);
    SYS(close(last));
    printf("again %d\n", open("/dev/null", O_RDONLY) == last);
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

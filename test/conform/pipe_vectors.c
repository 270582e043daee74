/*
 * readv and writev block as read and write do, gather and scatter in order, and refuse bad counts.
 * POSIX readv, writev.
 */
#include "conform.h"
#include <sys/socket.h>
#include <sys/uio.h>

static int fd[2];

static void *
reader(void *arg)
{
    char a[4] = "", b[5] = "", c[16] = "";
    struct iovec v[] = { { a, 3 }, { NULL, 0 }, { b, 4 }, { c, 15 } };
    volatile int count = 0;     /* else the compiler warns of the bad ones */
    ssize_t n;

    (void)arg;
    n = readv(fd[0], v, 4);
    printf("readv %zd \"%s\" \"%s\" \"%s\"\n", n, a, b, c);
    SYS(readv(fd[0], v, count));
    count = -1;
    SYS(readv(fd[0], v, count));
    count = 1025;
    SYS(readv(fd[0], v, count));
    return NULL;
}

static void *
bigreader(void *arg)
{
    static char buf[4096];
    unsigned long sum = 0, total = 0;
    ssize_t n, i;

    (void)arg;
    while ((n = read(fd[0], buf, sizeof buf)) > 0) {
        for (i = 0; i < n; i++)
            sum += (unsigned char)buf[i] * (total++ % 13 + 1);
    }
    printf("read %lu, sum %lu\n", total, sum);
    return NULL;
}

static void
exchange(void)
{
    static char big[2][100000];
    struct iovec hello[] = { { (char *)"ab", 2 }, { (char *)"cdefg", 5 }, { (char *)"hij", 3 } };
    struct iovec v[] = { { big[0], sizeof big[0] }, { big[1], sizeof big[1] } };
    pthread_t t;

    t = spawn(reader, NULL);
    msleep(20);
    CHECK(writev(fd[1], hello, 3) == 10);
    join(t);
    memset(big[0], 3, sizeof big[0]);
    memset(big[1], 5, sizeof big[1]);
    t = spawn(bigreader, NULL);
    CHECK(writev(fd[1], v, 2) == 200000);
    close(fd[1]);
    join(t);
    close(fd[0]);
}

int
main(void)
{
    CHECK(pipe(fd) == 0);
    exchange();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    exchange();
    return conform_status();
}

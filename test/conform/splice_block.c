/*
 * splice, tee, vmsplice, sendfile and copy_file_range: what they move is complete, and they wait for the
 * other side like read and write while other threads go on.  splice(2), sendfile(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { SIZE = 300000 };

static int in[2], out[2], s[2];

static void *
relay(void *arg)
{
    unsigned long total = 0;
    ssize_t n;

    (void)arg;
    while ((n = splice(in[0], NULL, out[1], NULL, 65536, 0)) > 0)
        total += (unsigned long)n;
    CHECK(n == 0);
    close(out[1]);
    return (void *)total;
}

static void *
producer(void *arg)
{
    static char buf[7000];
    size_t left = SIZE;

    (void)arg;
    memset(buf, 1, sizeof buf);
    msleep(10);
    while (left > 0) {
        ssize_t n = write(in[1], buf, left < sizeof buf ? left : sizeof buf);

        CHECK(n > 0);
        left -= (size_t)n;
    }
    close(in[1]);
    return NULL;
}

static void *
drain(void *arg)
{
    static char buf[5000];
    unsigned long total = 0;
    ssize_t n;

    while ((n = read(*(int *)arg, buf, sizeof buf)) > 0)
        total += (unsigned long)n;
    return (void *)total;
}

static void *
late(void *arg)
{
    msleep(10);
    CHECK(write(in[1], arg, strlen(arg)) == (ssize_t)strlen(arg));
    return NULL;
}

int
main(void)
{
    static char data[SIZE];
    struct iovec v = { data, 5 };
    pthread_t r, p, d;
    off_t off = 0;
    unsigned long total = 0;
    ssize_t n;
    int f, g;

    CHECK(pipe(in) == 0 && pipe(out) == 0);
    r = spawn(relay, NULL);
    p = spawn(producer, NULL);
    d = spawn(drain, &out[0]);
    join(p);
    printf("splice: relayed %lu", (unsigned long)join(r));
    printf(", received %lu\n", (unsigned long)join(d));
    close(in[0]);
    close(out[0]);

    f = open("conform.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(write(f, data, SIZE) == SIZE);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    d = spawn(drain, &s[1]);
    while ((n = sendfile(s[0], f, &off, SIZE)) > 0)
        total += (unsigned long)n;
    close(s[0]);
    printf("sendfile: sent %lu, offset %ld, received %lu\n", total, (long)off, (unsigned long)join(d));

    CHECK(pipe(in) == 0 && pipe(out) == 0);
    p = spawn(late, (void *)"hello");
    SYS(tee(in[0], out[1], 100, 0));
    join(p);
    SYS(read(in[0], data, 100));
    SYS(read(out[0], data, 100));
    SYS(vmsplice(out[1], &v, 1, 0));
    SYS(read(out[0], data, 100));
    SYS(splice(in[0], NULL, out[1], NULL, 100, SPLICE_F_NONBLOCK));
    SYS(splice(f, NULL, f, NULL, 100, 0));

    g = open("conform.copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    off = 0;
    n = copy_file_range(f, &off, g, NULL, SIZE, 0);
    printf("copy_file_range: %s\n", n == SIZE ? "all" : n > 0 ? "part" : errname(errno));
    unlink("conform.data");
    unlink("conform.copy");
    return conform_status();
}

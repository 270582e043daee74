/*
 * Descriptors are numbered as without threads: after threads have run, slept and blocked, open, pipe, dup and
 * socket give the lowest free number, and none below 100 is in use that the program did not open.
 * POSIX: 2.14 File Descriptor Allocation.
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/socket.h>

static int p[2];

/* The number of descriptors below 100 that are open. */
static int
count(void)
{
    int i, n = 0;

    for (i = 0; i < 100; i++)
        n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static void *
reader(void *arg)
{
    char c;

    (void)arg;
    CHECK(read(p[0], &c, 1) == 1);
    msleep(5);
    return NULL;
}

int
main(void)
{
    int at_start = count(), base = open("/dev/null", O_RDONLY), a, b, s, i;
    pthread_t t[4];

    CHECK(pipe(p) == 0);
    for (i = 0; i < 4; i++)
        t[i] = spawn(reader, NULL);
    msleep(20);
    printf("open with threads alive: %d\n", count() - at_start);
    a = open("/dev/null", O_RDONLY);
    b = dup(a);
    s = socket(AF_UNIX, SOCK_STREAM, 0);
    printf("pipe +%d +%d, open +%d, dup +%d, socket +%d\n", p[0] - base, p[1] - base, a - base, b - base, s - base);
    close(a);
    a = open("/dev/zero", O_RDONLY);
    printf("reused +%d\n", a - base);
    CHECK(write(p[1], "1234", 4) == 4);
    for (i = 0; i < 4; i++)
        join(t[i]);
    printf("open with threads ended: %d\n", count() - at_start);
    printf("F_DUPFD from 50: %d\n", fcntl(a, F_DUPFD, 50));
    return conform_status();
}

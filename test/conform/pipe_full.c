/*
 * A writer blocks on a full pipe until it is drained, and one write of 1 MiB through a pipe of 64 KiB
 * returns only when all of it is through.  POSIX write; pipe(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/ioctl.h>

enum { BIG = 1 << 20 };

static int fd[2], through;
static char big[BIG];

static void *
fill1(void *arg)
{
    ssize_t n = write(fd[1], "z", 1);

    (void)arg;
    __atomic_store_n(&through, 1, __ATOMIC_RELEASE);
    printf("write to the full pipe: %zd\n", n);
    return NULL;
}

static void *
fillbig(void *arg)
{
    ssize_t n = write(fd[1], big, BIG);

    (void)arg;
    printf("write of 1 MiB: %zd\n", n);
    close(fd[1]);
    return NULL;
}

int
main(void)
{
    static char buf[65536];
    unsigned long total = 0, wrong = 0;
    pthread_t t;
    ssize_t n, i;
    int waiting;

    CHECK(pipe(fd) == 0);
    CHECK(fcntl(fd[1], F_SETPIPE_SZ, 65536) == 65536);
    CHECK(write(fd[1], buf, 65536) == 65536);
    CHECK(ioctl(fd[0], FIONREAD, &waiting) == 0);
    printf("in the pipe: %d\n", waiting);
    t = spawn(fill1, NULL);
    msleep(30);
    printf("before the drain: %s\n", __atomic_load_n(&through, __ATOMIC_ACQUIRE) ? "written" : "blocked");
    CHECK(read(fd[0], buf, 65536) > 0);
    join(t);
    CHECK(fcntl(fd[0], F_SETFL, O_NONBLOCK) == 0);
    while (read(fd[0], buf, sizeof buf) > 0)
        ;
    CHECK(fcntl(fd[0], F_SETFL, 0) == 0);
    for (i = 0; i < BIG; i++)
        big[i] = (char)(i * 7 + i / 4096);
    t = spawn(fillbig, NULL);
    while ((n = read(fd[0], buf, 5001)) > 0) {
        for (i = 0; i < n; i++, total++)
            wrong += buf[i] != (char)(total * 7 + total / 4096);
    }
    join(t);
    printf("read %lu, wrong %lu, end %zd\n", total, wrong, n);
    return conform_status();
}

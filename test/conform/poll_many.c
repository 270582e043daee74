/*
 * One thread polls 500 pipes at once while others write to them: every byte is seen exactly once, whichever
 * thread writes and whatever descriptor.  POSIX poll.
 */
#include "conform.h"
#include <poll.h>
#include <sys/resource.h>

enum { FDS = 500, WRITERS = 4, EACH = 1000 };

static int fd[FDS][2];

static void *
writer(void *arg)
{
    uint32_t x = (uint32_t)(intptr_t)arg + 1;
    int i;

    for (i = 0; i < EACH; i++) {
        x = x * 1664525 + 1013904223;
        CHECK(write(fd[(x >> 8) % FDS][1], "x", 1) == 1);
        if (i % 200 == 0)
            msleep(1);
    }
    return NULL;
}

int
main(void)
{
    static struct pollfd p[FDS];
    struct rlimit rl;
    pthread_t t[WRITERS];
    int i, n, total = 0, wrong = 0;
    char buf[16];
    ssize_t r;

    CHECK(getrlimit(RLIMIT_NOFILE, &rl) == 0);
    if (rl.rlim_cur < 2 * FDS + 20) {
        rl.rlim_cur = 2 * FDS + 20;
        if (rl.rlim_cur > rl.rlim_max || setrlimit(RLIMIT_NOFILE, &rl) != 0)
            SKIP("RLIMIT_NOFILE is below %d", 2 * FDS + 20);
    }
    for (i = 0; i < FDS; i++) {
        CHECK(pipe(fd[i]) == 0);
        p[i] = (struct pollfd){ fd[i][0], POLLIN, 0 };
    }
    for (i = 0; i < WRITERS; i++)
        t[i] = spawn(writer, (void *)(intptr_t)i);
    while (total < WRITERS * EACH) {
        n = poll(p, FDS, -1);
        for (i = 0; i < FDS && n > 0; i++) {
            if (p[i].revents == 0)
                continue;
            n--;
            wrong += p[i].revents != POLLIN;
            r = read(fd[i][0], buf, sizeof buf);
            CHECK(r > 0);
            total += (int)r;
        }
        wrong += n != 0;
    }
    for (i = 0; i < WRITERS; i++)
        join(t[i]);
    printf("bytes %d, wrong %d, left %d\n", total, wrong, poll(p, FDS, 0));
    return conform_status();
}

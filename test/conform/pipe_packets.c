/*
 * A pipe in packet mode gives one packet for each read, however many wait: a short read does not mean that
 * it is empty.  pipe(2), O_DIRECT.
 */
#include "conform.h"
#include <fcntl.h>

static int fd[2];

static void *
reader(void *arg)
{
    char buf[4096];
    intptr_t n = 0;

    (void)arg;
    while (read(fd[0], buf, sizeof buf) == 10)
        n++;
    return (void *)n;
}

int
main(void)
{
    pthread_t t;
    int i;

    if (pipe2(fd, O_DIRECT) < 0)
        SKIP("no packet pipes");
    t = spawn(reader, NULL);
    msleep(5);
    for (i = 0; i < 300; i++) {
        CHECK(write(fd[1], "0123456789", 10) == 10);
        if (i % 3 == 2)
            sched_yield();
        if (i % 50 == 0)
            msleep(1);
    }
    close(fd[1]);
    printf("packets %ld\n", (long)(intptr_t)join(t));
    return conform_status();
}

/*
 * A read that waits on an empty pipe gets what a write from another thread brings, a part of it when
 * it asks for less; reads and writes of no bytes return 0 at once.  POSIX read, write; pipe(7).
 */
#include "conform.h"

static int fd[2], done;

static void *
reader(void *arg)
{
    char buf[16] = "";
    int i;

    (void)arg;
    for (i = 0; i < 3; i++) {
        ssize_t n = read(fd[0], buf, i == 0 ? sizeof buf : 3);

        printf("read %zd \"%.*s\"\n", n, n > 0 ? (int)n : 0, buf);
        __atomic_store_n(&done, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

int
main(void)
{
    pthread_t t;
    char c;

    CHECK(pipe(fd) == 0);
    t = spawn(reader, NULL);
    msleep(20);
    CHECK(write(fd[1], "hello", 5) == 5);
    do
        msleep(20);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE));
    CHECK(write(fd[1], "abcdef", 6) == 6);
    join(t);
    SYS(read(fd[0], &c, 0));
    SYS(write(fd[1], &c, 0));
    SYS(read(fd[1], &c, 1));
    SYS(write(fd[0], "x", 1));
    close(fd[1]);
    SYS(read(fd[0], &c, 1));
    close(fd[0]);
    SYS(read(fd[0], &c, 1));
    SYS(read(-1, &c, 1));
    return conform_status();
}

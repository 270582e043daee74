/*
 * open of a FIFO waits for the other side, in both directions, while other threads go on; O_NONBLOCK gives
 * ENXIO to a writer without reader.  POSIX open; fifo(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/stat.h>

static const char path[] = "conform.fifo";
static int opened;

static void *
reader(void *arg)
{
    char buf[8] = "";
    int fd = open(path, O_RDONLY);
    ssize_t n;

    (void)arg;
    __atomic_store_n(&opened, 1, __ATOMIC_RELEASE);
    while ((n = read(fd, buf, 7)) > 0)
        printf("reader: %zd \"%.*s\"\n", n, (int)n, buf);
    printf("reader: end %zd\n", n);
    close(fd);
    return NULL;
}

static void *
writer(void *arg)
{
    int fd = open(path, O_WRONLY);

    (void)arg;
    __atomic_store_n(&opened, 1, __ATOMIC_RELEASE);
    CHECK(write(fd, "writer", 6) == 6);
    close(fd);
    return NULL;
}

static const char *
state(void)
{
    return __atomic_load_n(&opened, __ATOMIC_ACQUIRE) ? "open" : "waits";
}

int
main(void)
{
    char buf[8] = "";
    pthread_t t;
    int fd;

    unlink(path);
    CHECK(mkfifo(path, 0600) == 0);
    SYS(open(path, O_WRONLY | O_NONBLOCK));
    t = spawn(reader, NULL);
    msleep(20);
    printf("reader alone: %s\n", state());
    fd = open(path, O_WRONLY);
    CHECK(write(fd, "main", 4) == 4);
    close(fd);
    join(t);

    opened = 0;
    t = spawn(writer, NULL);
    msleep(20);
    printf("writer alone: %s\n", state());
    fd = open(path, O_RDONLY);
    CHECK(read(fd, buf, 7) == 6);
    printf("main: \"%s\"\n", buf);
    join(t);
    SYS(read(fd, buf, 7));
    unlink(path);
    return conform_status();
}

/* eventfd_read and eventfd_write, libc's wrappers: they block and wake as read and write do, and 200 readers at once need no kernel
 * thread each (more than a hundred tasks would say so; natively there are 200, which is not printed). */
#include "conform.h"
#include <sys/eventfd.h>

static int fd;

static void *
reads(void *arg)
{
    eventfd_t v = 0;

    CHECK(eventfd_read(fd, &v) == 0 && v == 1);
    return arg;
}

int
main(void)
{
    pthread_t th[200];
    eventfd_t v;
    int full, r;

    fd = eventfd(0, EFD_SEMAPHORE);
    for (int i = 0; i < 200; i++)
        CHECK(pthread_create(&th[i], NULL, reads, NULL) == 0);
    usleep(300000);
    if (getenv("GOMAXPROCS") != NULL)
        CHECK(kernelthreads() < 100);
    CHECK(eventfd_write(fd, 200) == 0);
    for (int i = 0; i < 200; i++)
        pthread_join(th[i], NULL);
    full = eventfd(0, EFD_NONBLOCK);
    r = eventfd_read(full, &v);
    printf("empty: %s\n", errname(r == 0 ? 0 : errno));
    CHECK(eventfd_write(full, UINT64_MAX - 1) == 0);
    r = eventfd_write(full, 1);
    printf("full: %s\n", errname(r == 0 ? 0 : errno));
    r = eventfd_write(full, UINT64_MAX);
    printf("too much: %s\n", errname(r == 0 ? 0 : errno));
    r = eventfd_read(-1, &v);
    printf("closed: %s\n", errname(r == 0 ? 0 : errno));
    return conform_status();
}

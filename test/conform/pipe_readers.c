/*
 * 16 threads block in read on one pipe: every byte is read once, and all see the end when the last
 * writer closes.  POSIX read; pipe(7).
 */
#include "conform.h"

enum { READERS = 16, WRITERS = 4, EACH = 5000 };

static int fd[2];
static unsigned long sum, bytes;
static int ends;

static void *
reader(void *arg)
{
    unsigned char buf[7];
    unsigned long s = 0, b = 0;
    ssize_t n, i;

    (void)arg;
    while ((n = read(fd[0], buf, sizeof buf)) > 0) {
        for (i = 0; i < n; i++)
            s += buf[i];
        b += (unsigned long)n;
    }
    CHECK(n == 0);
    __atomic_fetch_add(&sum, s, __ATOMIC_RELAXED);
    __atomic_fetch_add(&bytes, b, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
writer(void *arg)
{
    int w = *(int *)arg, i;

    for (i = 0; i < EACH; i++) {
        unsigned char c = (unsigned char)i;

        CHECK(write(w, &c, 1) == 1);
    }
    close(w);
    return NULL;
}

int
main(void)
{
    pthread_t r[READERS], w[WRITERS];
    int i, wfd[WRITERS];

    CHECK(pipe(fd) == 0);
    for (i = 0; i < READERS; i++)
        r[i] = spawn(reader, NULL);
    msleep(20);
    for (i = 0; i < WRITERS; i++)
        wfd[i] = dup(fd[1]);
    close(fd[1]);
    for (i = 0; i < WRITERS; i++)
        w[i] = spawn(writer, &wfd[i]);
    for (i = 0; i < WRITERS; i++)
        join(w[i]);
    for (i = 0; i < READERS; i++)
        join(r[i]);
    printf("bytes %lu, sum %lu, ends %d\n", bytes, sum, ends);
    return conform_status();
}

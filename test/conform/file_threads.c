/*
 * Eight threads on one regular file: pread and pwrite at offsets of their own, appends that do not overwrite
 * one another, fsync, and read with a shared offset that gives every byte once.  POSIX pread, write.
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/stat.h>

enum { THREADS = 8, RECORDS = 100, SIZE = 64 };

static int fd;
static unsigned long sum, wrong;

static void *
positioned(void *arg)
{
    int id = (int)(intptr_t)arg, i;
    char out[SIZE], in[SIZE];

    for (i = 0; i < RECORDS; i++) {
        off_t at = (off_t)(i * THREADS + id) * SIZE;

        memset(out, 'a' + id, sizeof out);
        CHECK(pwrite(fd, out, SIZE, at) == SIZE);
        CHECK(pread(fd, in, SIZE, at) == SIZE);
        if (memcmp(in, out, SIZE) != 0)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (i % 50 == 0)
            CHECK(fsync(fd) == 0);
    }
    CHECK(fdatasync(fd) == 0);
    return NULL;
}

static void *
shared(void *arg)
{
    unsigned char buf[SIZE];
    unsigned long s = 0;
    ssize_t n, i;

    (void)arg;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (i = 0; i < n; i++)
            s += buf[i];
    }
    __atomic_fetch_add(&sum, s, __ATOMIC_RELAXED);
    return NULL;
}

static void *
appender(void *arg)
{
    char line[32];
    int f = open("conform.append", O_WRONLY | O_APPEND), i;

    for (i = 0; i < RECORDS; i++) {
        int n = snprintf(line, sizeof line, "%d %d\n", (int)(intptr_t)arg, i);

        CHECK(write(f, line, (size_t)n) == n);
    }
    close(f);
    return NULL;
}

static void
run(void *(*fn)(void *))
{
    pthread_t t[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        t[i] = spawn(fn, (void *)(intptr_t)i);
    for (i = 0; i < THREADS; i++)
        join(t[i]);
}

int
main(void)
{
    struct stat st;
    int id, i, count[THREADS] = { 0 };
    FILE *f;

    fd = open("conform.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    run(positioned);
    CHECK(fstat(fd, &st) == 0);
    printf("size %ld, wrong %lu, offset %ld\n", (long)st.st_size, wrong, (long)lseek(fd, 0, SEEK_CUR));
    run(shared);
    printf("sum %lu, offset %ld\n", sum, (long)lseek(fd, 0, SEEK_CUR));
    unlink("conform.data");

    close(open("conform.append", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    run(appender);
    f = fopen("conform.append", "r");
    while (f && fscanf(f, "%d %d", &id, &i) == 2)
        CHECK(id >= 0 && id < THREADS && i == count[id]++);
    for (i = 0; i < THREADS; i++)
        printf("%d%s", count[i], i < THREADS - 1 ? " " : " lines\n");
    unlink("conform.append");
    return conform_status();
}

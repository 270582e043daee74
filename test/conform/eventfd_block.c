/*
 * An eventfd blocks a reader at 0 and a writer that would overflow; EFD_SEMAPHORE gives one at a time to
 * ten waiting threads; bad lengths are EINVAL.  eventfd(2).
 */
#include "conform.h"
#include <sys/eventfd.h>

enum { N = 10 };

static int fd, taken, wrote;

static void *
reader(void *arg)
{
    uint64_t v = 0;

    (void)arg;
    CHECK(read(fd, &v, sizeof v) == sizeof v);
    printf("read %lu\n", (unsigned long)v);
    return NULL;
}

static void *
writer(void *arg)
{
    uint64_t v = 5;

    (void)arg;
    CHECK(write(fd, &v, sizeof v) == sizeof v);
    __atomic_store_n(&wrote, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *
taker(void *arg)
{
    uint64_t v = 0;

    (void)arg;
    CHECK(read(fd, &v, sizeof v) == sizeof v);
    __atomic_fetch_add(&taken, (int)v, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    uint64_t v = 7;
    char small[4];
    int i;

    fd = eventfd(0, 0);
    t[0] = spawn(reader, NULL);
    msleep(20);
    CHECK(write(fd, &v, sizeof v) == sizeof v);
    join(t[0]);
    v = UINT64_MAX - 1;
    CHECK(write(fd, &v, sizeof v) == sizeof v);
    t[0] = spawn(writer, NULL);
    msleep(20);
    printf("writer %s\n", __atomic_load_n(&wrote, __ATOMIC_ACQUIRE) ? "through" : "blocked");
    CHECK(read(fd, &v, sizeof v) == sizeof v);
    printf("value %s\n", v == UINT64_MAX - 1 ? "the highest" : "another");
    join(t[0]);
    CHECK(read(fd, &v, sizeof v) == sizeof v);
    printf("then %lu\n", (unsigned long)v);
    v = UINT64_MAX;
    SYS(write(fd, &v, sizeof v));
    SYS(read(fd, small, sizeof small));
    close(fd);

    fd = eventfd(0, EFD_SEMAPHORE);
    for (i = 0; i < N; i++)
        t[i] = spawn(taker, NULL);
    msleep(20);
    v = N / 2;
    CHECK(write(fd, &v, sizeof v) == sizeof v);
    CHECK(write(fd, &v, sizeof v) == sizeof v);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("taken %d\n", taken);
    close(fd);
    fd = eventfd(0, EFD_NONBLOCK);
    SYS(read(fd, &v, sizeof v));
    return conform_status();
}

/* What the unit tests share. They link the modules below hook/; the runner's threads are foreign: they
 * block in the kernel. */
#ifndef GOSSAMER_UNIT_H
#define GOSSAMER_UNIT_H

#include "wait/wait.h"
#include "base/real.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MS = 1000000 };

/* What the library's constructor does. */
__attribute__((constructor)) static void
findreal(void)
{
    realinit();
}

/* Waits until cond holds; a test that hangs fails by its timeout. */
#define until(cond) \
    while (!(cond)) \
        usleep(200)

static inline pthread_t
spawn(void *(*fn)(void *), void *arg)
{
    pthread_t th;

    cr_assert_eq(pthread_create(&th, NULL, fn, arg), 0);
    return th;
}

static inline void *
reap(pthread_t th)
{
    void *ret;

    cr_assert_eq(pthread_join(th, &ret), 0);
    return ret;
}

/* CLOCK_MONOTONIC, `ms` from now. */
static inline int64_t
in_ms(int64_t ms)
{
    return nanotime() + ms * MS;
}

static inline struct timespec
ts_of(int64_t ns)
{
    return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

#endif

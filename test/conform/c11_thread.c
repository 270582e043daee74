/*
 * C11 threads: create, join with result, exit, detach, current and equal, yield, sleep (not short).
 * ISO C11 7.26.5.
 */
#include "conform.h"
#include <semaphore.h>
#include <threads.h>

static sem_t done;

static int
returns(void *arg)
{
    thrd_yield();
    return *(int *)arg * 2;
}

static int
exits(void *arg)
{
    (void)arg;
    thrd_exit(-7);
}

static int
own(void *arg)
{
    thrd_t *t = (thrd_t *)arg;

    *t = thrd_current();
    return thrd_equal(*t, thrd_current()) != 0;
}

static int
detached(void *arg)
{
    (void)arg;
    sem_post(&done);
    return 0;
}

int
main(void)
{
    struct timespec ts = { 0, 20000000 }, end;
    thrd_t t[20], self;
    int v[20], i, r = 99;

    for (i = 0; i < 20; i++) {
        v[i] = i - 10;
        CHECK(thrd_create(&t[i], returns, &v[i]) == thrd_success);
    }
    for (i = 0; i < 20; i++) {
        CHECK(thrd_join(t[i], &r) == thrd_success);
        printf("%d ", r);
    }
    CHECK(thrd_create(&t[0], exits, NULL) == thrd_success);
    CHECK(thrd_join(t[0], &r) == thrd_success);
    printf("\nthrd_exit: %d\n", r);
    CHECK(thrd_create(&t[0], own, &self) == thrd_success);
    printf("not main: %d\n", !thrd_equal(t[0], thrd_current()));
    CHECK(thrd_join(t[0], &r) == thrd_success);
    printf("own: %d, the handle: %d\n", r, thrd_equal(t[0], self) != 0);
    sem_init(&done, 0, 0);
    CHECK(thrd_create(&t[0], detached, NULL) == thrd_success);
    printf("detach: %d\n", thrd_detach(t[0]) == thrd_success);
    while (sem_wait(&done) != 0)
        ;
    end = after_ms(CLOCK_MONOTONIC, 20);
    printf("sleep: %d\n", thrd_sleep(&ts, NULL));
    CHECK(reached(CLOCK_MONOTONIC, &end));
    ts.tv_nsec = 1000000000;
    printf("sleep, bad: %d\n", thrd_sleep(&ts, NULL) < -1);
    return conform_status();
}

/* Unnamed semaphores on foreign threads. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <limits.h>

static sem_t s, back;

TestSuite(sem, .timeout = 30);

static int
value(void)
{
    int v;

    sem_getvalue(&s, &v);
    return v;
}

Test(sem, counts)
{
    sem_init(&s, 0, 2);
    cr_expect_eq(sema_trywait(&s), 0);
    cr_expect_eq(sema_wait(&s, 0, false), 0);
    cr_expect_eq(sema_trywait(&s), -EAGAIN);
    cr_expect_eq(sema_post(&s), 0);
    cr_expect_eq(value(), 1);
    cr_expect_eq(sem_trywait(&s), 0, "libc's layout");
    cr_expect_eq(sem_post(&s), 0);
    cr_expect_eq(sema_trywait(&s), 0);
    sem_init(&s, 0, SEM_VALUE_MAX);
    cr_expect_eq(sema_post(&s), -EOVERFLOW);
    cr_expect_eq(value(), SEM_VALUE_MAX);
}

Test(sem, timeouts)
{
    int64_t start = nanotime();

    sem_init(&s, 0, 0);
    cr_expect_eq(sema_wait(&s, start + 20 * MS, false), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    cr_expect_eq(sema_wait(&s, 1, false), -ETIMEDOUT);
    cr_expect_eq(sema_wait(&s, -EINVAL, false), -EINVAL);
    cr_expect(!parkedat(&s));
    sema_post(&s);
    cr_expect_eq(sema_wait(&s, -EINVAL, false), 0, "only a wait looks at the time");
    cr_expect_eq(*(uint64_t *)(void *)&s, 0, "no waiter is left behind");
}

static void *
waiter(void *unused)
{
    sema_wait(&s, 0, false);
    sema_post(&back);
    return unused;
}

Test(sem, post_wakes_one)
{
    pthread_t th[4];

    sem_init(&s, 0, 0);
    sem_init(&back, 0, 0);
    for (int i = 0; i < 4; i++)
        th[i] = spawn(waiter, NULL);
    until(*(volatile uint64_t *)(void *)&s >> 32 == 4);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(sema_wait(&back, in_ms(5), false), -ETIMEDOUT);
        sema_post(&s);
        cr_expect_eq(sema_wait(&back, 0, false), 0);
    }
    for (int i = 0; i < 4; i++)
        reap(th[i]);
}

enum { ROUNDS = 20000 };

static void *
taker(void *arg)
{
    uintptr_t got = 0;

    for (int i = 0; i < ROUNDS; i++)
        got += sema_wait(&s, i % 3 == 0 ? nanotime() + 10000 : 0, false) == 0;
    (void)arg;
    return (void *)got;
}

static void *
giver(void *unused)
{
    for (int i = 0; i < 3 * ROUNDS; i++)
        sema_post(&s);
    return unused;
}

Test(sem, nothing_lost)
{
    pthread_t th[3], g;
    uintptr_t got = 0;

    sem_init(&s, 0, 0);
    for (int i = 0; i < 3; i++)
        th[i] = spawn(taker, NULL);
    g = spawn(giver, NULL);
    for (int i = 0; i < 3; i++)
        got += (uintptr_t)reap(th[i]);
    reap(g);
    cr_expect_eq((int)(3 * ROUNDS - got), value());
    cr_expect_eq(*(uint64_t *)(void *)&s >> 32, 0);
}

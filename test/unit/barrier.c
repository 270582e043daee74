/* Barriers and once on foreign threads. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { N = 5, ROUNDS = 2000 };

static pthread_barrier_t b;
static _Atomic int serial, arrived, early;

static void *
rounds(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&arrived, 1);
        if (barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&serial, 1);
        if (load_rlx(&arrived) < (i + 1) * N)
            atomic_fetch_add(&early, 1);
    }
    return unused;
}

/* hook/ keeps only the count in it: the third word of glibc's own structure. */
static void
init(uint32_t count)
{
    memset(&b, 0, sizeof b);
    ((uint32_t *)(void *)&b)[2] = count;
}

Test(barrier, rounds, .timeout = 30)
{
    pthread_t th[N];

    init(N);
    for (int i = 0; i < N; i++)
        th[i] = spawn(rounds, NULL);
    for (int i = 0; i < N; i++)
        reap(th[i]);
    cr_expect_eq(load_rlx(&serial), ROUNDS, "one of each round");
    cr_expect_eq(load_rlx(&early), 0);
}

Test(barrier, of_one)
{
    init(1);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(barrier_wait(&b), PTHREAD_BARRIER_SERIAL_THREAD);
}

static void *
arrive(void *unused)
{
    (void)unused;
    return (void *)(long)barrier_wait(&b);
}

/* The serial thread may destroy it while the others wake up. */
Test(barrier, destroyed_at_once, .timeout = 30)
{
    for (int i = 0; i < 500; i++) {
        pthread_t th[2];
        long sum = 0;

        init(3);
        th[0] = spawn(arrive, NULL);
        th[1] = spawn(arrive, NULL);
        until(*(volatile uint32_t *)(void *)&b == 2);
        sum += barrier_wait(&b);
        memset(&b, 0xff, sizeof b);
        sum += (long)reap(th[0]) + (long)reap(th[1]);
        cr_assert_eq(sum, PTHREAD_BARRIER_SERIAL_THREAD);
    }
}

static int control;
static _Atomic int runs, seen;

static void
initialise(void)
{
    usleep(20000);
    atomic_fetch_add(&runs, 1);
}

static void *
racer(void *unused)
{
    once(&control, initialise);
    atomic_fetch_add(&seen, load_rlx(&runs));
    return unused;
}

Test(once, runs_once, .timeout = 30)
{
    pthread_t th[N];

    for (int i = 0; i < N; i++)
        th[i] = spawn(racer, NULL);
    for (int i = 0; i < N; i++)
        reap(th[i]);
    cr_expect_eq(load_rlx(&runs), 1);
    cr_expect_eq(load_rlx(&seen), N, "all waited for its end");
    cr_expect_eq(pthread_once(&control, initialise), 0, "libc agrees that it is done");
    cr_expect_eq(load_rlx(&runs), 1);
}

static void
quit(void)
{
    if (atomic_fetch_add(&runs, 1) == 0)
        pthread_exit(NULL);
}

static void *
quitter(void *unused)
{
    once(&control, quit);
    return unused;
}

/* Left by pthread_exit, the next caller runs it again. */
Test(once, abandoned, .timeout = 30)
{
    reap(spawn(quitter, NULL));
    cr_expect_eq(control, 0);
    reap(spawn(quitter, NULL));
    cr_expect_eq(load_rlx(&runs), 2);
    cr_expect_eq(once(&control, quit), 0);
    cr_expect_eq(load_rlx(&runs), 2);
}

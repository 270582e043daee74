/* Barriers and once on foreign threads. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { N = 5 };

static pthread_barrier_t b;
static _Atomic int serial, arrived, early;

static int count, nrounds;

static void *
rounds(void *unused)
{
    for (int i = 0; i < nrounds; i++) {
        atomic_fetch_add(&arrived, 1);
        if (barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&serial, 1);
        if (load_rlx(&arrived) < (i + 1) * count) {
            atomic_fetch_add(&early, 1);
            break;
        }
    }
    return unused;
}

/* hook/ keeps only the count in it: the third word of glibc's own structure. */
static void
init(uint32_t parties)
{
    memset(&b, 0, sizeof b);
    ((uint32_t *)(void *)&b)[2] = parties;
}

static void
meet(int n, int times)
{
    pthread_t th[16];

    count = n;
    nrounds = times;
    init((uint32_t)n);
    for (int i = 0; i < n; i++)
        th[i] = spawn(rounds, NULL);
    until(load_rlx(&early) != 0 || load_rlx(&serial) == times);
    cr_assert_eq(load_rlx(&early), 0, "one left before the others had come");
    for (int i = 0; i < n; i++)
        reap(th[i]);
    cr_expect_eq(load_rlx(&serial), times, "one of each round");
}

Test(barrier, rounds, .timeout = 60)
{
    meet(N, 2000);
}

/* Who finds the round over when it wants to park comes to the next one before those of this round are woken,
 * and must not be woken with them. */
Test(barrier, early_for_the_next_round, .timeout = 60)
{
    meet(2, 200000);
}

Test(barrier, more_than_cpus, .timeout = 60)
{
    meet(16, 5000);
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

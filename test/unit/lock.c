/* Locks and notes for kernel threads, and the kernel's futex under them. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { THREADS = 4, ROUNDS = 200000 };

static struct lock l;
static struct note n;
static long counter;

TestSuite(lock, .timeout = 20);

static void *
count(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 7 != 0 || !trylock(&l))
            lock(&l);
        counter++;
        unlock(&l);
    }
    return unused;
}

Test(lock, exclusion)
{
    pthread_t th[THREADS];

    for (int i = 0; i < THREADS; i++)
        th[i] = spawn(count, NULL);
    for (int i = 0; i < THREADS; i++)
        reap(th[i]);
    cr_expect_eq(counter, (long)THREADS * ROUNDS);
    cr_expect_eq(load_rlx(&l.key), 0);
}

Test(lock, trylock)
{
    cr_expect(trylock(&l));
    cr_expect(!trylock(&l));
    unlock(&l);
    cr_expect(trylock(&l));
}

static void *
locker(void *arg)
{
    lock(&l);
    store_rel((_Atomic bool *)arg, true);
    unlock(&l);
    return NULL;
}

Test(lock, contender_waits_and_gets_it)
{
    _Atomic bool got = false;
    pthread_t th;

    lock(&l);
    th = spawn(locker, (void *)&got);
    usleep(10000);
    cr_expect(!load_acq(&got));
    unlock(&l);
    reap(th);
    cr_expect(load_acq(&got));
}

static void *
waker(void *unused)
{
    usleep(20000);
    notewakeup(&n);
    return unused;
}

Test(note, sleep)
{
    int64_t start = nanotime();
    pthread_t th = spawn(waker, NULL);

    notesleep(&n);
    cr_expect_geq(nanotime() - start, 20 * MS);
    notesleep(&n);              /* stays until cleared */
    notewakeup(&n);
    cr_expect(notetsleep(&n, 1000 * (int64_t)MS));
    reap(th);
    noteclear(&n);
    cr_expect(!notetsleep(&n, MS));
}

Test(note, timed)
{
    int64_t start = nanotime();
    pthread_t th;

    cr_expect(!notetsleep(&n, 10 * MS));
    cr_expect_geq(nanotime() - start, 10 * MS);
    th = spawn(waker, NULL);
    cr_expect(notetsleep(&n, 10000 * (int64_t)MS));
    reap(th);
}

Test(lock, futex)
{
    _Atomic uint32_t word = 1;

    cr_expect_eq(futex_wait(&word, 0, 0), -EAGAIN);
    cr_expect_eq(futex_wait(&word, 1, in_ms(1)), -ETIMEDOUT);
    cr_expect_eq(futex_wait(&word, 1, 1), -ETIMEDOUT);
    cr_expect_eq(futex_wake(&word, 1), 0);
}

Test(clock, clocks)
{
    int64_t a = nanotime(), b;

    sys_sleep(5 * MS);
    b = nanotime();
    cr_expect_geq(b - a, 5 * MS);
    cr_expect_geq(clocknow(CLOCK_REALTIME), (int64_t)1000000000 * 1500000000);
    clockinit();
    cr_expect(ticks_per_us >= 100 && ticks_per_us < 20000, "%d ticks", (int)ticks_per_us);
}

/* Mutexes on foreign threads, in glibc's own type. */
#define _GNU_SOURCE 1
#include "unit.h"
#include "base/real.h"

enum { THREADS = 4, ROUNDS = 50000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void
setup(void)
{
    gomaxprocs = 2;
    realinit();
}

TestSuite(mutex, .init = setup, .timeout = 30);

static void
kind(int type)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    pthread_mutex_init(&m, &attr);
}

/* What another thread gets. */
static void *
callfn(void *fn)
{
    return (void *)(long)((int (*)(pthread_mutex_t *))fn)(&m);
}

static long
elsewhere(int (*fn)(pthread_mutex_t *))
{
    return (long)reap(spawn(callfn, (void *)fn));
}

static void *
increment(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 5 != 0 || mutex_trylock(&m) != 0)
            mutex_lock(&m);
        counter++;
        mutex_unlock(&m);
    }
    return unused;
}

static void
exclusion(int type)
{
    pthread_t th[THREADS];

    kind(type);
    counter = 0;
    for (int i = 0; i < THREADS; i++)
        th[i] = spawn(increment, NULL);
    for (int i = 0; i < THREADS; i++)
        reap(th[i]);
    cr_expect_eq(counter, (long)THREADS * ROUNDS, "type %d", type);
    cr_expect_eq(m.__data.__lock, 0);
    cr_expect_eq(m.__data.__nusers, 0);
    cr_expect_eq(pthread_mutex_destroy(&m), 0, "libc finds it unused");
}

Test(mutex, exclusion)
{
    exclusion(PTHREAD_MUTEX_NORMAL);
    exclusion(PTHREAD_MUTEX_RECURSIVE);
    exclusion(PTHREAD_MUTEX_ERRORCHECK);
    exclusion(PTHREAD_MUTEX_ADAPTIVE_NP);
    gomaxprocs = 1;
    exclusion(PTHREAD_MUTEX_NORMAL);
}

Test(mutex, normal)
{
    cr_expect_eq(mutex_lock(&m), 0);
    cr_expect_eq(m.__data.__owner, gettid());
    cr_expect_eq(mutex_trylock(&m), -EBUSY);
    cr_expect_eq(elsewhere(mutex_trylock), -EBUSY);
    cr_expect_eq(pthread_mutex_trylock(&m), EBUSY, "libc sees it locked");
    cr_expect_eq(mutex_unlock(&m), 0);
    cr_expect_eq(pthread_mutex_lock(&m), 0);
    cr_expect_eq(mutex_trylock(&m), -EBUSY, "we see libc's lock");
    cr_expect_eq(mutex_unlock(&m), 0);
    cr_expect_eq(mutex_trylock(&m), 0);
}

Test(mutex, recursive)
{
    kind(PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(mutex_lock(&m), 0);
    cr_expect_eq(mutex_trylock(&m), 0);
    cr_expect_eq(elsewhere(mutex_unlock), -EPERM);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(elsewhere(mutex_trylock), -EBUSY);
        cr_expect_eq(mutex_unlock(&m), 0);
    }
    cr_expect_eq(mutex_unlock(&m), -EPERM);
    cr_expect_eq(mutex_lock(&m), 0);
    m.__data.__count = ~0u;
    cr_expect_eq(mutex_lock(&m), -EAGAIN);
    cr_expect_eq(mutex_trylock(&m), -EAGAIN);
}

Test(mutex, errorcheck)
{
    struct timespec past = { 1, 0 };

    kind(PTHREAD_MUTEX_ERRORCHECK);
    cr_expect_eq(mutex_unlock(&m), -EPERM);
    cr_expect_eq(mutex_lock(&m), 0);
    cr_expect_eq(mutex_lock(&m), -EDEADLK);
    cr_expect_eq(mutex_trylock(&m), -EBUSY);
    cr_expect_eq(mutex_timedlock(&m, CLOCK_REALTIME, &past), -EDEADLK);
    cr_expect_eq(elsewhere(mutex_unlock), -EPERM);
    cr_expect_eq(mutex_unlock(&m), 0);
}

static int
timed(pthread_mutex_t *mp)
{
    struct timespec ts = ts_of(in_ms(20));

    return mutex_timedlock(mp, CLOCK_MONOTONIC, &ts);
}

static int
timedreal(pthread_mutex_t *mp)
{
    struct timespec ts = ts_of(clocknow(CLOCK_REALTIME) + 20 * MS);

    return mutex_timedlock(mp, CLOCK_REALTIME, &ts);
}

static int
timedbad(pthread_mutex_t *mp)
{
    struct timespec ts = { 0, -1 };

    return mutex_timedlock(mp, CLOCK_REALTIME, &ts);
}

static int
timedpast(pthread_mutex_t *mp)
{
    struct timespec ts = { 1, 0 };

    return mutex_timedlock(mp, CLOCK_REALTIME, &ts);
}

static int
timednegative(pthread_mutex_t *mp)
{
    struct timespec ts = { -1, 0 };

    return mutex_timedlock(mp, CLOCK_REALTIME, &ts);
}

Test(mutex, timed)
{
    int64_t start;

    mutex_lock(&m);
    start = nanotime();
    cr_expect_eq(elsewhere(timed), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    start = nanotime();
    cr_expect_eq(elsewhere(timedreal), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    cr_expect_eq(elsewhere(timedpast), -ETIMEDOUT);
    cr_expect_eq(elsewhere(timednegative), -ETIMEDOUT);
    cr_expect_eq(elsewhere(timedbad), -EINVAL);
    mutex_unlock(&m);
    cr_expect_eq(timedbad(&m), 0, "a free lock is taken whatever the time says");
    mutex_unlock(&m);
    cr_expect_eq(timedpast(&m), 0);
}

static void *
holder(void *unused)
{
    mutex_lock(&m);
    counter++;
    mutex_unlock(&m);
    return unused;
}

Test(mutex, unlock_wakes)
{
    pthread_t th[THREADS];

    mutex_lock(&m);
    for (int i = 0; i < THREADS; i++)
        th[i] = spawn(holder, NULL);
    until(parkedat(mutexword(&m)));
    usleep(10000);
    cr_expect_eq(counter, 0);
    cr_expect_eq(m.__data.__lock, 2);
    mutex_unlock(&m);
    for (int i = 0; i < THREADS; i++)
        reap(th[i]);
    cr_expect_eq(counter, THREADS);
}

Test(mutex, relock_takes_it_as_contended)
{
    cr_expect_eq(mutex_relock(&m), 0);
    cr_expect_eq(m.__data.__lock, 2);
    cr_expect_eq(m.__data.__owner, gettid());
    mutex_unlock(&m);
    kind(PTHREAD_MUTEX_RECURSIVE);
    cr_expect_eq(mutex_relock(&m), 0);
    cr_expect_eq(mutex_lock(&m), 0);
    cr_expect_eq(m.__data.__count, 2);
}

static void *
relocker(void *unused)
{
    mutex_relock(&m);
    counter++;
    mutex_unlock(&m);
    return unused;
}

/* Robust ones stay libc's. */
Test(mutex, relock_of_libcs)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attr);
    cr_expect(m.__data.__kind & MutexReal);
    cr_expect_eq(mutex_relock(&m), 0);
    cr_expect_eq(pthread_mutex_unlock(&m), 0);
    pthread_mutex_init(&m, NULL);
    reap(spawn(relocker, NULL));
    cr_expect_eq(counter, 1);
}

static void *
churn(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        struct timespec ts = ts_of(nanotime() + i % 50 * 1000);

        if (mutex_timedlock(&m, CLOCK_MONOTONIC, &ts) == 0) {
            counter++;
            mutex_unlock(&m);
        }
        mutex_lock(&m);
        counter++;
        mutex_unlock(&m);
    }
    return unused;
}

/* No wake-up is lost between those that give up and those that wait. */
Test(mutex, timeouts_race_with_unlocks)
{
    pthread_t th[THREADS];

    for (int i = 0; i < THREADS; i++)
        th[i] = spawn(churn, NULL);
    for (int i = 0; i < THREADS; i++)
        reap(th[i]);
    cr_expect_geq(counter, THREADS * 3000);
    cr_expect_eq(m.__data.__nusers, 0);
}

/* Condition variables on foreign threads. */
#define _GNU_SOURCE 1
#include "unit.h"
#include "base/real.h"

enum { N = 8 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, space = PTHREAD_COND_INITIALIZER;
static int waiting, released, awake;

static void
setup(void)
{
    gomaxprocs = 2;
    realinit();
}

TestSuite(cond, .init = setup, .timeout = 30);

static void *
waiter(void *unused)
{
    mutex_lock(&m);
    waiting++;
    while (released == 0)
        cond_wait(&c, &m, CLOCK_REALTIME, NULL);
    released--;
    awake++;
    mutex_unlock(&m);
    return unused;
}

static int
locked(int *what)
{
    int v;

    mutex_lock(&m);
    v = *what;
    mutex_unlock(&m);
    return v;
}

static void
start(pthread_t *th)
{
    for (int i = 0; i < N; i++)
        th[i] = spawn(waiter, NULL);
    until(locked(&waiting) == N);
}

Test(cond, signal_wakes_one)
{
    pthread_t th[N];

    start(th);
    for (int i = 0; i < N; i++) {
        mutex_lock(&m);
        released++;
        cond_signal(&c);
        mutex_unlock(&m);
        until(locked(&awake) == i + 1);
    }
    for (int i = 0; i < N; i++)
        reap(th[i]);
    cr_expect(!parkedat(&c));
}

static void
broadcast(bool holding)
{
    pthread_t th[N];

    start(th);
    mutex_lock(&m);
    released = N;
    if (!holding)
        mutex_unlock(&m);
    cond_broadcast(&c);
    if (holding)
        mutex_unlock(&m);
    for (int i = 0; i < N; i++)
        reap(th[i]);
    cr_expect_eq(awake, N);
    cr_expect(!parkedat(&c) && !parkedat(mutexword(&m)));
}

Test(cond, broadcast_with_the_mutex)
{
    broadcast(true);
}

Test(cond, broadcast_without_the_mutex)
{
    broadcast(false);
}

Test(cond, nobody_waits)
{
    pthread_cond_t before = c;

    cond_signal(&c);
    cond_broadcast(&c);
    cr_expect_eq(memcmp(&before, &c, sizeof c), 0, "nothing is kept in it");
}

Test(cond, timeouts)
{
    struct timespec ts;
    int64_t at = nanotime();

    mutex_lock(&m);
    ts = ts_of(at + 20 * MS);
    cr_expect_eq(cond_wait(&c, &m, CLOCK_MONOTONIC, &ts), -ETIMEDOUT);
    cr_expect_geq(nanotime() - at, 20 * MS);
    cr_expect_eq(m.__data.__owner, gettid(), "it holds the mutex again");
    ts = ts_of(clocknow(CLOCK_REALTIME) + 20 * MS);
    at = nanotime();
    cr_expect_eq(cond_wait(&c, &m, CLOCK_REALTIME, &ts), -ETIMEDOUT);
    cr_expect_geq(nanotime() - at, 20 * MS);
    ts = (struct timespec){ 0, 1000000000 };
    cr_expect_eq(cond_wait(&c, &m, CLOCK_REALTIME, &ts), -EINVAL);
    ts = (struct timespec){ 1, 0 };
    cr_expect_eq(cond_wait(&c, &m, CLOCK_REALTIME, &ts), -ETIMEDOUT);
    cr_expect_eq(m.__data.__owner, gettid());
    ts = (struct timespec){ -1, 0 };
    cr_expect_eq(cond_wait(&c, &m, CLOCK_REALTIME, &ts), -ETIMEDOUT);
    cr_expect(!parkedat(&c));
}

Test(cond, mutex_not_held)
{
    pthread_mutex_t check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    cr_expect_eq(cond_wait(&c, &check, CLOCK_REALTIME, NULL), -EPERM);
    cr_expect(!parkedat(&c));
    cr_expect_eq(mutex_lock(&check), 0, "it is as it was");
}

static void *
robustwaiter(void *arg)
{
    int r;

    pthread_mutex_lock(arg);
    mutex_lock(&m);
    waiting = 1;
    mutex_unlock(&m);
    r = cond_wait(&c, arg, CLOCK_REALTIME, NULL);
    pthread_mutex_unlock(arg);
    return (void *)(long)r;
}

/* A mutex that is libc's. */
Test(cond, robust_mutex)
{
    pthread_mutex_t robust;
    pthread_mutexattr_t attr;
    pthread_t th;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    th = spawn(robustwaiter, &robust);
    until(locked(&waiting) == 1);
    pthread_mutex_lock(&robust);
    cond_broadcast(&c);
    pthread_mutex_unlock(&robust);
    cr_expect_null(reap(th));
}

/* A bounded queue: nothing is lost, nothing comes twice. */
enum { ITEMS = 20000, ROOM = 4 };

static int items[ROOM], first, count, taken;
static long sum;

static void *
producer(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        mutex_lock(&m);
        while (count == ROOM)
            cond_wait(&space, &m, CLOCK_REALTIME, NULL);
        items[(first + count++) % ROOM] = i;
        cond_signal(&c);
        mutex_unlock(&m);
    }
    return arg;
}

static void *
consumer(void *arg)
{
    mutex_lock(&m);
    for (;;) {
        while (count == 0 && taken < 2 * ITEMS) {
            struct timespec ts = ts_of(in_ms(1));

            cond_wait(&c, &m, CLOCK_MONOTONIC, taken % 2 ? &ts : NULL);
        }
        if (count == 0)
            break;
        sum += items[first];
        first = (first + 1) % ROOM;
        count--;
        if (++taken == 2 * ITEMS)
            cond_broadcast(&c);
        cond_signal(&space);
    }
    mutex_unlock(&m);
    return arg;
}

Test(cond, bounded_queue)
{
    pthread_t p[2], q[3];

    for (int i = 0; i < 3; i++)
        q[i] = spawn(consumer, NULL);
    for (int i = 0; i < 2; i++)
        p[i] = spawn(producer, NULL);
    for (int i = 0; i < 2; i++)
        reap(p[i]);
    for (int i = 0; i < 3; i++)
        reap(q[i]);
    cr_expect_eq(taken, 2 * ITEMS);
    cr_expect_eq(sum, (long)ITEMS * (ITEMS - 1));
}

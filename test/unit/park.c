/* park, the user-space futex. A foreign waiter waits on a word of its own, so one thread may queue many of
 * them (parkbegin does not block) and look whom a wake-up reached. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { N = 8 };

static _Atomic uint32_t word, other;
static struct waiter w[N];

static void
queue(int i, const void *addr, uint32_t tag)
{
    cr_assert(parkbegin(&w[i], addr, NULL, 0, tag));
}

static void
queueall(const void *addr)
{
    for (int i = 0; i < N; i++)
        queue(i, addr, 1);
}

static bool
woken(int i)
{
    return load_rlx(&w[i].own) == WakeUnpark;
}

/* Which were woken, as bits. */
static unsigned
wokenset(void)
{
    unsigned set = 0;

    for (int i = 0; i < N; i++)
        set |= (unsigned)woken(i) << i;
    return set;
}

/* Takes out what still waits. */
static void
drain(void)
{
    for (int i = 0; i < N; i++)
        if (w[i].wake != NULL)
            parkend(&w[i], 1, WaitFutex);
}

TestSuite(park, .fini = drain, .timeout = 20);

Test(park, value_mismatch)
{
    store_rlx(&word, 3);
    cr_expect_eq(park(&word, 2, 0, 1, WaitFutex), -EAGAIN);
    cr_expect(!parkbegin(&w[0], &word, &word, 2, 1));
    cr_expect(!parkedat(&word));
    w[0].wake = NULL;
    cr_expect_eq(unpark(&word, 1, ~0u), 0);
}

Test(park, woken_before_it_waits)
{
    cr_assert(parkbegin(&w[0], &word, &word, 0, 1));
    cr_expect(parkedat(&word));
    cr_expect_eq(unpark(&word, 1, ~0u), 1);
    cr_expect(!parkedat(&word));
    cr_expect_eq(parkend(&w[0], 0, WaitFutex), 0);
    cr_expect_eq(unpark(&word, 1, ~0u), 0);
}

Test(park, oldest_first)
{
    queueall(&word);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(unpark(&word, 1, ~0u), 1);
        cr_expect_eq(wokenset(), (2u << i) - 1);
    }
}

Test(park, up_to_n)
{
    queueall(&word);
    cr_expect_eq(unpark(&word, 0, ~0u), 0);
    cr_expect_eq(unpark(&word, 3, ~0u), 3);
    cr_expect_eq(wokenset(), 7);
    cr_expect_eq(unpark(&word, 1 << 30, ~0u), N - 3);
    cr_expect_eq(unpark(&word, 1, ~0u), 0);
}

Test(park, other_address)
{
    queueall(&word);
    cr_expect_eq(unpark(&other, 1, ~0u), 0);
    cr_expect_eq(unpark((char *)&word + 1, 1, ~0u), 0);
}

/* 8 waiters per bucket at the least. */
Test(park, many_addresses)
{
    enum { M = 16384 };
    struct waiter *many = calloc(M, sizeof *many);
    char *base = malloc(M * 4);
    int bad = 0;

    for (int i = 0; i < M; i++)
        parkbegin(&many[i], base + 4 * i, NULL, 0, 1);
    for (int i = M - 1; i >= 0; i--)
        bad += unpark(base + 4 * i, 2, ~0u) != 1 || load_rlx(&many[i].own) != WakeUnpark;
    cr_expect_eq(bad, 0);
    for (int i = 0; i < M; i++)
        bad += parkedat(base + 4 * i);
    cr_expect_eq(bad, 0);
}

Test(park, tags)
{
    for (int i = 0; i < 6; i++)
        queue(i, &word, 1u << (i % 3));
    cr_expect_eq(unpark(&word, 1, 2), 1);
    cr_expect_eq(wokenset(), 1u << 1);
    cr_expect_eq(unpark(&word, 9, 4 | 8), 2);
    cr_expect_eq(wokenset(), 1u << 1 | 1u << 2 | 1u << 5);
    cr_expect_eq(unpark(&word, 9, 8), 0);
    cr_expect_eq(unpark(&word, 9, 3), 3);
}

Test(park, left)
{
    _Atomic uint32_t bits = 1;

    queue(0, &word, 1);
    queue(1, &word, 2);
    cr_expect_eq(unparkleft(&word, 1, 2, 2, &bits, 4), 1);
    cr_expect_eq(load_rlx(&bits), 1, "none with tag 2 is left");
    cr_expect(woken(1));
    queue(2, &word, 2);
    cr_expect_eq(unparkleft(&word, 1, 1, 2, &bits, 4), 1);
    cr_expect_eq(load_rlx(&bits), 5);
    store_rlx(&bits, 0);
    queue(3, &word, 2);
    cr_expect_eq(unparkleft(&word, 1, 2, 2, &bits, 4), 1);
    cr_expect_eq(load_rlx(&bits), 4, "there was one too many");
    store_rlx(&bits, 0);
    cr_expect_eq(unparkleft(&word, 1, 1, 3, &bits, 4), 0);
    cr_expect_eq(load_rlx(&bits), 4, "none woken, one left");
}

Test(park, timeout)
{
    int64_t start = nanotime();

    cr_expect_eq(park(&word, 0, start + 20 * MS, 1, WaitFutex), -ETIMEDOUT);
    cr_expect_geq(nanotime() - start, 20 * MS);
    cr_expect(!parkedat(&word));
    cr_expect_eq(park(&word, 0, 1, 1, WaitFutex), -ETIMEDOUT, "in the past");
    cr_expect_eq(unpark(&word, 1, ~0u), 0);
}

Test(park, timeout_from_the_middle)
{
    queueall(&word);
    cr_expect_eq(parkend(&w[3], 1, WaitFutex), -ETIMEDOUT);
    cr_expect_eq(parkend(&w[0], 1, WaitFutex), -ETIMEDOUT);
    cr_expect_eq(parkend(&w[N - 1], 1, WaitFutex), -ETIMEDOUT);
    cr_expect_eq(unpark(&word, 1 << 30, ~0u), N - 3);
    cr_expect(!parkedat(&word));
    cr_expect_eq(wokenset(), 0xffu & ~(1u << 3 | 1u | 1u << (N - 1)));
}

/* Who is claimed for another reason does not use up the wake-up. */
Test(park, loser_passes_on)
{
    bool parked;

    queueall(&word);
    cr_assert(gclaim(w[0].wake, WakeSignal, &parked));
    cr_expect_eq(unpark(&word, 1, ~0u), 1);
    cr_expect_eq(wokenset(), 2);
    cr_expect_eq(parkend(&w[0], 0, WaitFutex), -EINTR);
}

Test(park, requeue)
{
    int moved = -1;

    queueall(&word);
    store_rlx(&word, 1);
    cr_expect_eq(requeue(&word, 1, 2, &other, &word, 0, &moved), -EAGAIN);
    cr_expect_eq(wokenset(), 0);
    cr_expect_eq(requeue(&word, 1, 2, &other, &word, 1, &moved), 1);
    cr_expect_eq(moved, 2);
    cr_expect_eq(wokenset(), 1);
    cr_expect(!w[0].requeued && w[1].requeued && w[2].requeued && !w[3].requeued);
    cr_expect_eq(unpark(&other, 1, ~0u), 1);
    cr_expect_eq(wokenset(), 3);
    cr_expect_eq(unpark(&word, 1 << 30, ~0u), N - 3);
    cr_expect_eq(unpark(&other, 1 << 30, ~0u), 1);
    cr_expect(!parkedat(&word) && !parkedat(&other));
}

Test(park, requeue_goes_behind_others)
{
    int moved;

    queue(0, &other, 1);
    queue(1, &word, 1);
    cr_expect_eq(requeue(&word, 0, 1 << 30, &other, NULL, 0, &moved), 0);
    cr_expect_eq(moved, 1);
    cr_expect_eq(unpark(&other, 1, ~0u), 1);
    cr_expect(woken(0));
    cr_expect_eq(requeue(&word, 1, 1, &other, NULL, 0, &moved), 0);
    cr_expect_eq(moved, 0, "nobody there");
}

Test(park, requeue_to_itself)
{
    int moved;

    queue(0, &word, 1);
    queue(1, &word, 1);
    cr_expect_eq(requeue(&word, 0, 1, &word, NULL, 0, &moved), 0);
    cr_expect_eq(moved, 1);
    cr_expect_eq(unpark(&word, 1 << 30, ~0u), 2);
}

Test(park, timeout_after_requeue)
{
    int moved;

    queue(0, &word, 1);
    requeue(&word, 0, 1, &other, NULL, 0, &moved);
    cr_expect_eq(parkend(&w[0], 1, WaitFutex), -ETIMEDOUT);
    cr_expect(w[0].requeued);
    cr_expect(!parkedat(&other));
    cr_expect_eq(unpark(&other, 1, ~0u), 0);
}

Test(park, unparkmove)
{
    for (int i = 0; i < 5; i++)
        w[i].aux = &other;
    queueall(&word);            /* the others have no aux: they are woken */
    unparkmove(&word);
    cr_expect_eq(wokenset(), 1u | 0xe0);
    cr_expect(!parkedat(&word));
    for (int i = 1; i < 5; i++) {
        cr_expect(w[i].requeued);
        cr_expect_eq(unpark(&other, 1, ~0u), 1);
        cr_expect(woken(i));
    }
}

Test(park, unparkmove_without_aux)
{
    queueall(&word);
    unparkmove(&word);
    cr_expect_eq(wokenset(), 0xff);
    unparkmove(&word);          /* nobody there */
}

Test(park, unparkmove_first_has_left)
{
    bool parked;

    for (int i = 0; i < 4; i++) {
        w[i].aux = &other;
        queue(i, &word, 1);
    }
    cr_assert(gclaim(w[0].wake, WakeTimeout, &parked));
    unparkmove(&word);
    cr_expect_eq(wokenset(), 2, "the next is woken in its place");
    cr_expect_eq(unpark(&other, 1 << 30, ~0u), 2);
}

Test(park, reset)
{
    queueall(&word);
    parkreset();
    cr_expect(!parkedat(&word));
    cr_expect_eq(unpark(&word, 1, ~0u), 0);
    memset(w, 0, sizeof w);
}

/* A G that has left its stack goes to the global queue when a foreign thread wakes it; one that is still on
 * its way notices by itself. */
Test(park, wakes_gs)
{
    static struct g gs[2];
    static struct m m;
    static struct p p;

    m.p = &p;
    for (int i = 0; i < 2; i++) {
        gs[i].m = &m;
        m.curg = curg = &gs[i];
        queue(i, &word, 1);
        cr_expect_eq(gs[i].locks, 1, "pinned until parkend");
    }
    curg = NULL;
    cr_expect_eq(w[0].wake, &gs[0].wake);
    store_rlx(&gs[0].wake, WakeParked);
    cr_expect_eq(unpark(&word, 2, ~0u), 2);
    cr_expect_eq(load_rlx(&gs[0].wake), WakeUnpark);
    cr_expect_eq(load_rlx(&gs[1].wake), WakeUnpark);
    cr_expect_eq(load_rlx(&sched.runqsize), 1);
    cr_expect_eq(sched.runq.head, &gs[0]);
    memset(w, 0, sizeof w);
}

static _Atomic int done;

static void *
waiter(void *arg)
{
    long r = park(arg, 0, 0, 1, WaitFutex);

    atomic_fetch_add(&done, 1);
    return (void *)r;
}

Test(park, blocks_for_real)
{
    pthread_t th[4];

    for (int i = 0; i < 4; i++)
        th[i] = spawn(waiter, (void *)&word);
    usleep(20000);
    cr_expect_eq(load_rlx(&done), 0);
    for (int n = 0; n < 4;)
        n += unpark(&word, 1, ~0u);
    for (int i = 0; i < 4; i++)
        cr_expect_null(reap(th[i]));
}

enum { ROUNDS = 20000 };

static void *
pong(void *unused)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        while (load_acq(&word) == i)
            park(&word, i, 0, 1, WaitFutex);
        store_rel(&other, i + 1);
        unpark(&other, 1, ~0u);
    }
    return unused;
}

Test(park, pingpong)
{
    pthread_t th = spawn(pong, NULL);

    for (uint32_t i = 0; i < ROUNDS; i++) {
        store_rel(&word, i + 1);
        unpark(&word, 1, ~0u);
        while (load_acq(&other) == i)
            park(&other, i, 0, 1, WaitFutex);
    }
    reap(th);
}

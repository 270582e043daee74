/* park under ThreadSanitizer, with foreign threads: a ping-pong, a word with many waiters and many wakers,
 * requeues, and timeouts that race with wake-ups. Each wake-up that a waker counted must have exactly one
 * waiter that was woken. usage: park_tsan [ROUNDS] */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "base/real.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The scheduler's, which is not linked: foreign threads never get there. */
struct real real = { .clock_gettime = clock_gettime };
struct sched sched;
_Thread_local struct g *curg;
_Thread_local struct m *curm;
uint32_t gopark(struct g *gp, enum waitreason why) { (void)gp; (void)why; abort(); }
void timeradd(struct p *pp, struct timer *t, int64_t when) { (void)pp; (void)t; (void)when; abort(); }
void timerdel(struct timer *t) { (void)t; abort(); }
void regain(struct g *gp) { (void)gp; abort(); }
void deferredsignals(struct g *gp) { (void)gp; abort(); }
void ready(struct m *mp, struct g *gp) { (void)mp; (void)gp; abort(); }
void injectglist(struct glist *list) { if (list->n != 0) abort(); }
void readylist(struct glist *list) { if (list->n != 0) abort(); }

enum { WAITERS = 6, WAKERS = 2 };

static long rounds = 20000;
static _Atomic uint32_t ping, pong, from, to, never;
static long handed;                     /* plain: handed over by the ping-pong alone */
static _Atomic long counted, woken, timedout, interrupted;
static _Atomic int running;

static void *
ponger(void *unused)
{
    for (uint32_t i = 0; i < rounds; i++) {
        while (load_acq(&ping) == i)
            park(&ping, i, 0, 1, WaitFutex);
        handed++;
        store_rel(&pong, i + 1);
        unpark(&pong, 1, ~0u);
    }
    return unused;
}

static int
pingpong(void)
{
    pthread_t th;

    if (pthread_create(&th, NULL, ponger, NULL) != 0)
        return 99;
    for (uint32_t i = 0; i < rounds; i++) {
        handed++;
        store_rel(&ping, i + 1);
        unpark(&ping, 1, ~0u);
        while (load_acq(&pong) == i)
            park(&pong, i, 0, 1, WaitFutex);
    }
    pthread_join(th, NULL);
    printf("ping-pong: %ld of %ld\n", handed, 2 * rounds);
    return handed != 2 * rounds;
}

/* Waits at `from`, from which it may be moved to `to`, for up to some microseconds; other threads may claim it. */
static void *
waiter(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (long i = 0; i < rounds; i++) {
        struct waiter w;
        bool requeued;
        int r;

        w.aux = rand_r(&seed) % 4 == 0 ? NULL : (const void *)&to;
        if (!parkbegin(&w, (const void *)&from, rand_r(&seed) % 2 ? &never : NULL, 0, 1u << rand_r(&seed) % 2))
            abort();
        if (rand_r(&seed) % 8 == 0) {   /* as cond_wait does where the mutex was not its own */
            bool parked;

            if (gclaim(w.wake, WakeSignal, &parked)) {
                r = parkend(&w, 0, WaitFutex);
                if (r != -EINTR)
                    abort();
                atomic_fetch_add(&interrupted, 1);
                continue;
            }
        }
        r = parkend(&w, nanotime() + rand_r(&seed) % 60000, WaitFutex);
        requeued = w.requeued;  /* plain: must have been written before we were woken */
        (void)requeued;
        atomic_fetch_add(r == 0 ? &woken : &timedout, 1);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *
waker(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    _Atomic uint32_t left = 0;
    int moved;

    while (load_acq(&running) > 0) {
        long n = 0;

        switch (rand_r(&seed) % 6) {
        case 0: n = unpark((const void *)&from, 1, ~0u); break;
        case 1: n = unpark((const void *)&to, 2, 1); break;
        case 2: n = requeue((const void *)&from, 1, 2, (const void *)&to, NULL, 0, &moved); break;
        case 3: n = requeue((const void *)&to, 0, 9, (const void *)&from, NULL, 0, &moved); break;
        case 4: n = unparkleft((const void *)&to, 1, 2, 3, &left, 4); break;
        case 5: (void)parkedat((const void *)&from); sched_yield(); break;
        }
        atomic_fetch_add(&counted, n);
    }
    return NULL;
}

/* unparkmove does not say how many it woke: with it, only that nobody is forgotten is checked. */
static void *
mover(void *unused)
{
    while (load_acq(&running) > 0) {
        unparkmove((const void *)&from);
        unpark((const void *)&to, 1, ~0u);
        sched_yield();
    }
    return unused;
}

static int
crowd(void *(*extra)(void *))
{
    pthread_t th[WAITERS + WAKERS + 1];
    long ends;
    int n = 0;

    store_rlx(&running, WAITERS);
    store_rlx(&counted, 0);
    store_rlx(&woken, 0);
    store_rlx(&timedout, 0);
    store_rlx(&interrupted, 0);
    for (uintptr_t i = 0; i < WAITERS; i++)
        if (pthread_create(&th[n++], NULL, waiter, (void *)(i + 1)) != 0)
            return 99;
    for (uintptr_t i = 0; i < WAKERS; i++)
        if (pthread_create(&th[n++], NULL, waker, (void *)(i + 100)) != 0)
            return 99;
    if (extra != NULL && pthread_create(&th[n++], NULL, extra, NULL) != 0)
        return 99;
    while (n > 0)
        pthread_join(th[--n], NULL);
    ends = load_rlx(&woken) + load_rlx(&timedout) + load_rlx(&interrupted);
    printf("crowd: %ld waits: %ld woken, %ld timed out, %ld interrupted; %ld wake-ups counted\n", ends,
           load_rlx(&woken), load_rlx(&timedout), load_rlx(&interrupted), load_rlx(&counted));
    if (parkedat((const void *)&from) || parkedat((const void *)&to))
        return 1;
    return ends != WAITERS * rounds || (extra == NULL && load_rlx(&counted) != load_rlx(&woken));
}

int
main(int argc, char **argv)
{
    int bad;

    if (argc > 1)
        rounds = atol(argv[1]);
    bad = pingpong();
    bad |= crowd(NULL);
    bad |= crowd(mover);
    return bad;
}

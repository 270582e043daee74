/* The timer heaps. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { N = 10000 };

static struct g gs[N];
static struct p ps[3];

static void
setup(void)
{
    for (int i = 0; i < N; i++) {
        gs[i].goid = i;
        gs[i].timer.gp = &gs[i];
        store_rlx(&gs[i].wake, WakeParked);
    }
    srand48(20);
}

TestSuite(timer, .init = setup, .timeout = 20);

/* The heap's invariants. */
static int
wrong(struct timers *ts)
{
    int bad = 0;

    for (uint32_t i = 0; i < ts->n; i++) {
        bad += ts->heap[i]->i != i + 1;
        bad += i > 0 && ts->heap[(i - 1) / 2]->when > ts->heap[i]->when;
    }
    return bad + (load_rlx(&ts->when0) != (ts->n > 0 ? ts->heap[0]->when : 0));
}

static int64_t
when(void)
{
    return 1 + lrand48() % (N / 2);     /* with equal ones */
}

Test(timer, random_order)
{
    struct glist due = { 0 };
    int64_t last = 0;
    struct g *gp;

    for (int i = 0; i < N; i++) {
        timeradd(&ps[0], &gs[i].timer, when());
        if (i % 1000 == 0)
            cr_expect_eq(wrong(&ps[0].timers), 0);
    }
    cr_expect_eq(ps[0].timers.n, N);
    timersrun(&ps[0], INT64_MAX, &due);
    cr_expect_eq(due.n, N);
    while ((gp = glistpop(&due)) != NULL) {
        cr_assert(gp->timer.when >= last);
        last = gp->timer.when;
        cr_assert_eq(gp->timer.i, 0);
        cr_assert_eq(load_rlx(&gp->wake), WakeTimeout);
    }
    cr_expect_eq(wrong(&ps[0].timers), 0);
    cr_expect_eq(load_rlx(&ps[0].timers.when0), 0);
}

Test(timer, delete_from_the_middle)
{
    struct glist due = { 0 };
    bool gone[N] = { false };
    int left = N, bad = 0;

    for (int i = 0; i < N; i++)
        timeradd(&ps[0], &gs[i].timer, when());
    for (int i = 0; i < N; i++) {
        long k = lrand48() % N;

        if (!gone[k])
            left--;
        gone[k] = true;
        timerdel(&gs[k].timer);         /* twice is allowed */
        if (i % 500 == 0)
            bad += wrong(&ps[0].timers);
    }
    cr_expect_eq(bad, 0);
    cr_expect_eq((int)ps[0].timers.n, left);
    timersrun(&ps[0], INT64_MAX, &due);
    cr_expect_eq(due.n, left);
    for (int i = 0; i < N; i++)
        bad += load_rlx(&gs[i].wake) != (gone[i] ? WakeParked : WakeTimeout);
    cr_expect_eq(bad, 0);
}

Test(timer, only_what_is_due)
{
    struct glist due = { 0 };

    for (int i = 0; i < 10; i++)
        timeradd(&ps[0], &gs[i].timer, 10 + i);
    timersrun(&ps[0], 9, &due);
    cr_expect_eq(due.n, 0);
    timersrun(&ps[0], 10, &due);
    cr_expect_eq(due.n, 1);
    cr_expect_eq(load_rlx(&ps[0].timers.when0), 11);
    timersrun(&ps[0], 14, &due);
    cr_expect_eq(due.n, 5);
    cr_expect_eq(glistpop(&due), &gs[0], "appended in order");
    timersrun(&ps[0], 14, &due);
    cr_expect_eq(due.n, 4);
    cr_expect_eq(load_rlx(&ps[0].timers.when0), 15);
}

Test(timer, claims_once)
{
    struct glist due = { 0 };

    store_rlx(&gs[0].wake, WakeArmed);          /* on its way into gopark: it will see by itself */
    store_rlx(&gs[1].wake, WakeUnpark);         /* somebody was faster */
    store_rlx(&gs[2].wake, WakeNone);
    for (int i = 0; i < 4; i++)
        timeradd(&ps[0], &gs[i].timer, 1);
    timersrun(&ps[0], 1, &due);
    cr_expect_eq(due.n, 1);
    cr_expect_eq(due.head, &gs[3]);
    cr_expect_eq(load_rlx(&gs[0].wake), WakeTimeout);
    cr_expect_eq(load_rlx(&gs[1].wake), WakeUnpark);
    cr_expect_eq(load_rlx(&gs[2].wake), WakeNone);
    cr_expect_eq(ps[0].timers.n, 0);
}

Test(timer, when0)
{
    cr_expect_eq(timersnext(3, ps), 0);
    timeradd(&ps[1], &gs[0].timer, 50);
    cr_expect_eq(load_rlx(&ps[1].timers.when0), 50);
    timeradd(&ps[1], &gs[1].timer, 40);
    cr_expect_eq(load_rlx(&ps[1].timers.when0), 40);
    timeradd(&ps[2], &gs[2].timer, 30);
    cr_expect_eq(timersnext(3, ps), 30);
    cr_expect_eq(timersnext(2, ps), 40);
    cr_expect_eq(timersnext(1, ps), 0);
    timerdel(&gs[2].timer);
    cr_expect_eq(timersnext(3, ps), 40);
    timerdel(&gs[1].timer);
    cr_expect_eq(timersnext(3, ps), 50);
    timerdel(&gs[0].timer);
    cr_expect_eq(timersnext(3, ps), 0);
}

Test(timer, zero_is_not_none)
{
    timeradd(&ps[0], &gs[0].timer, 0);
    timeradd(&ps[0], &gs[1].timer, -5);
    cr_expect_eq(load_rlx(&ps[0].timers.when0), 1);
    cr_expect_eq(wrong(&ps[0].timers), 0);
}

static struct glist lists[2];
static _Atomic bool stop;

static void *
runner(void *arg)
{
    while (!load_acq(&stop))
        timersrun(&ps[0], INT64_MAX, arg);
    return NULL;
}

/* Two Ms run the same heap while a third adds and deletes. */
Test(timer, concurrent)
{
    pthread_t a = spawn(runner, &lists[0]), b = spawn(runner, &lists[1]);
    int fired = 0, bad = 0;

    for (int i = 0; i < N; i++) {
        timeradd(&ps[0], &gs[i].timer, when());
        if (i % 3 == 0)
            timerdel(&gs[i].timer);
    }
    until(load_acq(&ps[0].timers.when0) == 0);
    store_rel(&stop, true);
    reap(a);
    reap(b);
    for (int i = 0; i < N; i++) {
        fired += load_rlx(&gs[i].wake) == WakeTimeout;
        bad += i % 3 != 0 && load_rlx(&gs[i].wake) != WakeTimeout;
    }
    cr_expect_eq(bad, 0);
    cr_expect_eq(lists[0].n + lists[1].n, fired);
}

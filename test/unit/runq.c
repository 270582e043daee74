/* The run queues: order, overflow to the global queue, runnext, stealing. */
#define _GNU_SOURCE 1
#include "unit.h"

enum { N = 1024 };

static struct g gs[N];
static struct p one, two;

static void
setup(void)
{
    gomaxprocs = 2;
    for (int i = 0; i < N; i++)
        gs[i].goid = i;
}

TestSuite(runq, .init = setup);

static long
get(struct p *pp)
{
    bool inherit;
    struct g *gp = runqget(pp, &inherit);

    return gp != NULL ? gp->goid : -1;
}

static void
fill(struct p *pp, int from, int n)
{
    for (int i = 0; i < n; i++)
        runqput(pp, &gs[from + i], false);
}

static long
globget(void)
{
    struct g *gp = globrunqget(&two, 1);

    return gp != NULL ? gp->goid : -1;
}

Test(runq, first_in_first_out)
{
    cr_expect(runqempty(&one));
    cr_expect_eq(get(&one), -1);
    fill(&one, 0, RUNQSIZE);
    cr_expect(!runqempty(&one));
    cr_expect_eq(load_rlx(&sched.runqsize), 0, "a full ring has not overflowed yet");
    for (int i = 0; i < RUNQSIZE; i++)
        cr_expect_eq(get(&one), i);
    cr_expect_eq(get(&one), -1);
    cr_expect(runqempty(&one));
}

Test(runq, indices_wrap)
{
    store_rlx(&one.runqhead, UINT32_MAX - 5);
    store_rlx(&one.runqtail, UINT32_MAX - 5);
    fill(&one, 0, 20);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(get(&one), i);
    cr_expect(runqempty(&one));
    store_rlx(&one.runqhead, UINT32_MAX - 100);
    store_rlx(&one.runqtail, UINT32_MAX - 100);
    fill(&one, 0, RUNQSIZE + 1);
    cr_expect_eq(load_rlx(&sched.runqsize), RUNQSIZE / 2 + 1);
    cr_expect_eq(get(&one), RUNQSIZE / 2);
}

Test(runq, overflow_takes_the_older_half)
{
    fill(&one, 0, RUNQSIZE + 1);
    cr_expect_eq(load_rlx(&sched.runqsize), RUNQSIZE / 2 + 1);
    for (int i = RUNQSIZE / 2; i < RUNQSIZE; i++)
        cr_expect_eq(get(&one), i);
    cr_expect_eq(get(&one), -1);
    for (int i = 0; i < RUNQSIZE / 2; i++)
        cr_expect_eq(globget(), i);
    cr_expect_eq(globget(), RUNQSIZE, "the new one comes last");
    cr_expect_eq(globget(), -1);
    cr_expect_null(sched.runq.tail);
}

static void
runnext(void)
{
    bool inherit = false;

    fill(&one, 0, 2);
    runqput(&one, &gs[10], true);
    runqput(&one, &gs[11], true);
    cr_expect_eq(runqget(&one, &inherit), &gs[11], "the last one made ready runs next");
    cr_expect(inherit);
    cr_expect_eq(runqget(&one, &inherit), &gs[0]);
    cr_expect(!inherit);
    cr_expect_eq(get(&one), 1);
    cr_expect_eq(get(&one), 10, "the one kicked out goes to the tail");
    cr_expect(runqempty(&one));
    runqput(&one, &gs[12], true);
    cr_expect(!runqempty(&one), "runnext counts");
}

Test(runq, runnext)
{
    runnext();
}

Test(runq, runnext_with_one_p)
{
    gomaxprocs = 1;
    runnext();
}

Test(runq, runnext_kicks_into_a_full_ring)
{
    fill(&one, 0, RUNQSIZE);
    runqput(&one, &gs[500], true);
    cr_expect_eq(load_rlx(&sched.runqsize), 0);
    runqput(&one, &gs[501], true);
    cr_expect_eq(load_rlx(&sched.runqsize), RUNQSIZE / 2 + 1);
    cr_expect_eq(get(&one), 501);
}

Test(runq, steal_half)
{
    static const int sizes[] = { 1, 2, 3, 10, 11, 255, 256 };

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int n = sizes[k], half = n - n / 2;

        fill(&one, 0, n);
        cr_expect_eq(runqsteal(&two, &one, false), &gs[half - 1], "of %d", n);
        for (int i = 0; i < half - 1; i++)
            cr_expect_eq(get(&two), i);
        cr_expect_eq(get(&two), -1);
        for (int i = half; i < n; i++)
            cr_expect_eq(get(&one), i);
        cr_expect_eq(get(&one), -1);
    }
}

Test(runq, steal_from_empty)
{
    cr_expect_null(runqsteal(&two, &one, true));
    cr_expect(runqempty(&two));
}

Test(runq, steal_runnext_only_when_asked)
{
    store_rlx(&one.status, Prunning);
    runqput(&one, &gs[7], true);
    cr_expect_null(runqsteal(&two, &one, false));
    cr_expect_eq(runqsteal(&two, &one, true), &gs[7], "its scheduler did not move");
    cr_expect(runqempty(&one));
    cr_expect(runqempty(&two));
    store_rlx(&one.status, Pidle);
    runqput(&one, &gs[8], true);
    cr_expect_eq(runqsteal(&two, &one, true), &gs[8]);
}

static _Atomic bool stop;

static void *
ticker(void *arg)
{
    while (!load_rlx(&stop))
        ++*(volatile uint32_t *)arg;
    return NULL;
}

Test(runq, runnext_of_a_busy_p_stays)
{
    pthread_t th = spawn(ticker, &one.tick);
    bool stayed = false;

    ticks_per_us = 1000000;     /* look for a good while: the ticker may not be on a CPU */
    store_rlx(&one.status, Prunning);
    for (int i = 0; i < 20 && !stayed; i++) {
        runqput(&one, &gs[7], true);
        stayed = runqsteal(&two, &one, true) == NULL;
        store_rlx(&one.runnext, NULL);
    }
    store_rlx(&stop, true);
    reap(th);
    cr_expect(stayed);
}

static void
globfill(int n)
{
    for (int i = 0; i < n; i++)
        globrunqput(&gs[i]);
}

Test(runq, global_share)
{
    gomaxprocs = 4;
    cr_expect_null(globrunqget(&one, 0));
    globfill(100);
    cr_expect_eq(globrunqget(&one, 0), &gs[0]);
    cr_expect_eq(load_rlx(&sched.runqsize), 100 - 25, "n / GOMAXPROCS");
    for (int i = 1; i < 25; i++)
        cr_expect_eq(get(&one), i);
    cr_expect_eq(get(&one), -1);
    cr_expect_eq(globrunqget(&one, 3), &gs[25]);
    cr_expect_eq(get(&one), 26);
    cr_expect_eq(get(&one), 27);
    cr_expect_eq(get(&one), -1, "no more than max");
}

Test(runq, global_share_is_at_most_half_a_ring)
{
    gomaxprocs = 1;
    globfill(1000);
    cr_expect_eq(globrunqget(&one, 0), &gs[0]);
    cr_expect_eq(load_rlx(&sched.runqsize), 1000 - RUNQSIZE / 2);
    for (int i = 1; i < RUNQSIZE / 2; i++)
        cr_expect_eq(get(&one), i);
    cr_expect_eq(get(&one), -1);
}

Test(runq, global_takes_all_of_a_short_queue)
{
    gomaxprocs = 1;
    globfill(1);
    cr_expect_eq(globrunqget(&one, 0), &gs[0]);
    cr_expect_eq(load_rlx(&sched.runqsize), 0);
    cr_expect_null(sched.runq.head);
    cr_expect_null(sched.runq.tail);
    globfill(2);
    cr_expect_eq(globrunqget(&one, 0), &gs[0]);
    cr_expect_eq(get(&one), 1);
    cr_expect_null(sched.runq.tail);
}

Test(runq, global_into_a_ring_without_room)
{
    gomaxprocs = 1;
    fill(&one, 500, RUNQSIZE - 2);
    globfill(10);
    cr_expect_eq(globrunqget(&one, 0), &gs[0]);
    cr_expect_eq(load_rlx(&sched.runqsize), 7, "two fitted, the others stay");
    for (int i = 3; i < 10; i++)
        cr_expect_eq(globget(), i);
    cr_expect_eq(globget(), -1);
    cr_expect_null(sched.runq.tail);
}

Test(runq, global_list)
{
    struct glist list = { 0 }, none = { 0 };

    globrunqputlist(&none);
    cr_expect_null(sched.runq.head);
    globrunqput(&gs[0]);
    for (int i = 1; i < 4; i++)
        glistpush(&list, &gs[i]);
    globrunqputlist(&list);
    globrunqput(&gs[4]);
    cr_expect_eq(load_rlx(&sched.runqsize), 5);
    for (int i = 0; i < 5; i++)
        cr_expect_eq(globget(), i);
}

/* While all Ps compute. */
Test(runq, woken_before_preempted)
{
    hogs = true;
    ticks_per_us = 1000000;
    sched.lastturn = cpu_ticks();
    globrunqputlast(&gs[0]);
    globrunqput(&gs[1]);
    globrunqputlast(&gs[2]);
    globrunqput(&gs[3]);
    cr_expect_eq(globwoken(), 2);
    cr_expect_eq(globget(), 1);
    cr_expect_eq(globget(), 3);
    cr_expect_eq(globget(), 0);
    cr_expect_eq(globget(), 2);
    cr_expect_eq(globget(), -1);
}

Test(runq, preempted_have_their_turn)
{
    hogs = true;
    ticks_per_us = 0;           /* 5 ms are always over */
    globrunqputlast(&gs[0]);
    globrunqput(&gs[1]);
    cr_expect_eq(globget(), 0);
    cr_expect_eq(globget(), 1);
    cr_expect_eq(globwoken(), 0);
}

Test(runq, glist)
{
    struct glist list = { 0 };

    cr_expect_null(glistpop(&list));
    glistpush(&list, &gs[1]);
    glistpush(&list, &gs[2]);
    cr_expect_eq(list.n, 2);
    cr_expect_eq(glistpop(&list), &gs[1]);
    glistpush(&list, &gs[3]);
    cr_expect_eq(glistpop(&list), &gs[2]);
    cr_expect_eq(glistpop(&list), &gs[3]);
    cr_expect_null(list.tail);
    cr_expect_eq(list.n, 0);
}

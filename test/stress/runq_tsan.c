/* The run queue of one P under ThreadSanitizer: its owner puts, gets and overflows while three thieves steal
 * from it and from each other. Each item must come out exactly once. usage: runq_tsan [ITEMS] */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/real.h"
#include <stdio.h>
#include <stdlib.h>

/* proc.c's, which is not linked. */
struct sched sched;
struct real real = { .clock_gettime = clock_gettime };
_Atomic bool hogs;
int gomaxprocs = 4;

enum { POOL = 4096, THIEVES = 3 };

static struct p ps[1 + THIEVES];
static struct g pool[POOL];
static _Atomic uint32_t out[POOL];      /* 1 while it is in a queue */
static long plain[POOL];                /* written by whoever holds the G: a race if two do */
static _Atomic long seen, bad;
static _Atomic bool done;
static long items = 2000000;
static struct g *freelist[POOL];
static long nfree;                      /* by freelock, with freelist */
static struct lock freelock;

/* hogs.c's, for globpop: there are no hogs here. */
void
hoglater(void)
{
}

static void
consume(struct g *gp)
{
    if (atomic_exchange(&out[gp->goid], 0) != 1)
        atomic_fetch_add(&bad, 1);
    plain[gp->goid]++;
    atomic_fetch_add(&seen, 1);
    lock(&freelock);
    freelist[nfree++] = gp;
    unlock(&freelock);
}

static struct g *
fresh(void)
{
    struct g *gp = NULL;

    lock(&freelock);
    if (nfree > 0)
        gp = freelist[--nfree];
    unlock(&freelock);
    if (gp == NULL)
        return NULL;
    plain[gp->goid]++;
    atomic_store(&out[gp->goid], 1);
    return gp;
}

static struct g *
global(struct p *pp)
{
    struct g *gp;

    if (load_rlx(&sched.runqsize) == 0)
        return NULL;
    lock(&sched.lock);
    gp = globrunqget(pp, 0);
    unlock(&sched.lock);
    return gp;
}

static struct g *
find(struct p *pp, unsigned *seed)
{
    bool inherit;
    struct g *gp = runqget(pp, &inherit);

    for (int i = 0; gp == NULL && i <= THIEVES; i++) {
        struct p *from = &ps[((unsigned)rand_r(seed) + (unsigned)i) % (1 + THIEVES)];

        if (from != pp)
            gp = runqsteal(pp, from, i == THIEVES);
    }
    return gp != NULL ? gp : global(pp);
}

static void *
thief(void *arg)
{
    struct p *pp = arg;
    unsigned seed = (unsigned)pp->id;

    while (!load_acq(&done)) {
        struct g *gp = find(pp, &seed);

        (void)runqempty(&ps[(unsigned)rand_r(&seed) % (1 + THIEVES)]);
        if (gp != NULL)
            consume(gp);
        else
            cpu_pause();
    }
    return NULL;
}

static void
owner(struct p *pp)
{
    unsigned seed = 1;
    long put = 0;
    struct g *gp;

    while (put < items) {
        for (int n = rand_r(&seed) % 400; n > 0 && put < items && (gp = fresh()) != NULL; n--, put++)
            runqput(pp, gp, rand_r(&seed) % 4 == 0);
        for (int n = rand_r(&seed) % 200; n > 0 && (gp = find(pp, &seed)) != NULL; n--)
            consume(gp);
        ++*(volatile uint32_t *)&pp->schedtick; /* keeps the compiler from merging rounds */
    }
    while (load_acq(&seen) < items)
        if ((gp = find(pp, &seed)) != NULL)
            consume(gp);
}

int
main(int argc, char **argv)
{
    pthread_t th[THIEVES];

    if (argc > 1)
        items = atol(argv[1]);
    for (int i = 0; i < POOL; i++) {
        pool[i].goid = i;
        freelist[nfree++] = &pool[i];
    }
    ticks_per_us = 10;          /* thieves wait for runnext: not long here */
    for (int i = 0; i <= THIEVES; i++) {
        ps[i].id = i;
        store_rlx(&ps[i].status, Prunning);
    }
    for (int i = 0; i < THIEVES; i++)
        if (pthread_create(&th[i], NULL, thief, &ps[i + 1]) != 0)
            return 99;
    owner(&ps[0]);
    store_rel(&done, true);
    for (int i = 0; i < THIEVES; i++)
        pthread_join(th[i], NULL);
    printf("%ld put, %ld seen, %ld seen twice, %d left in queues\n", items, load_rlx(&seen), load_rlx(&bad),
           load_rlx(&sched.runqsize));
    return load_rlx(&seen) != items || load_rlx(&bad) != 0 || load_rlx(&sched.runqsize) != 0 || nfree != POOL;
}

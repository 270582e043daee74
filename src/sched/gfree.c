/* Dead Gs, kept with stack and thread block for the next pthread_create.
 *
 * Those of the default class are kept per P, at most 64; beyond that half of them go to the central
 * lists, and lose there the stack pages below the first two. Others go there at once.
 */
#include "sched/sched.h"

enum { LOCALMAX = 64, REFILL = 32 };

static _Atomic int defaultclass = -1;   /* of the first G that died: the program's usual one */

static void
putcentral(struct g *list)
{
    while (list != NULL) {
        struct g *gp = list;

        list = gp->schedlink;
        slottrim(&gp->slot, 2 * pagesize);
        lock(&sched.gflock);
        gp->schedlink = sched.gfree[gp->slot.class];
        sched.gfree[gp->slot.class] = gp;
        sched.count.scavenged++;
        unlock(&sched.gflock);
    }
}

/* gp is dead, nobody stands on its stack, nobody will join it. */
void
gfput(struct m *mp, struct g *gp)
{
    struct p *pp = mp->p;
    int class = gp->slot.class;

    store_rlx(&gp->status, Gdead);
    if (unlikely(load_rlx(&defaultclass) < 0))
        store_rlx(&defaultclass, class);
    if (unlikely(class != load_rlx(&defaultclass))) {
        gp->schedlink = NULL;
        putcentral(gp);
        return;
    }
    gp->schedlink = pp->gfree;
    pp->gfree = gp;
    if (++pp->ngfree >= LOCALMAX) {
        struct g *last = gp, *rest;

        /* The newest stay: their pages are in the cache. */
        for (int i = 1; i < REFILL; i++)
            last = last->schedlink;
        rest = last->schedlink;
        last->schedlink = NULL;
        pp->ngfree = REFILL;
        putcentral(rest);
    }
}

/* To the central lists with those that were not needed since the last time; by whoever pp's lists belong to now. */
void
gfscavenge(struct p *pp)
{
    struct g **at = &pp->gfree, *rest;

    for (int i = pp->gfreemin; i < pp->ngfree; i++)
        at = &(*at)->schedlink;
    rest = *at;
    *at = NULL;
    pp->ngfree -= pp->gfreemin;
    pp->gfreemin = pp->ngfree;
    putcentral(rest);
}

struct g *
gfget(struct m *mp, int class)
{
    struct p *pp = mp->p;
    struct g *gp;

    if (likely(class == load_rlx(&defaultclass)) && (gp = pp->gfree) != NULL) {
        pp->gfree = gp->schedlink;
        if (--pp->ngfree < pp->gfreemin)
            pp->gfreemin = pp->ngfree;
        return gp;
    }
    if (sched.gfree[class] == NULL)     /* a look without the lock: at worst a new stack too many */
        return NULL;
    lock(&sched.gflock);
    gp = sched.gfree[class];
    if (gp != NULL)
        sched.gfree[class] = gp->schedlink;
    unlock(&sched.gflock);
    return gp;
}

void
allgadd(struct g *gp)
{
    struct g *me = pin();

    lock(&sched.alllock);
    gp->alllink = load_rlx(&sched.allgs);
    store_rel(&sched.allgs, gp);
    unlock(&sched.alllock);
    unpin(me);
}

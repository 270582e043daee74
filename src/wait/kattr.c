/* What the kernel schedules a thread by - CPU affinity, policy and priority, nice value - when it is
 * set for another thread than the caller, or for one that is to be made.
 *
 * A G that has such attributes is locked to its M, and the M is given them. Only the G itself can get there: it
 * may be parked, or run anywhere. So the request is checked at once, as the kernel would (by giving it to the
 * monitor's thread for a moment, from which nothing is inherited), kept with the G, and carried out by the G on its
 * next way out of the runtime, with its signals (signal_deliver). A G that is locked already has it done at once.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static struct lock klock;       /* gp->kattr and the free list */
static struct kattr *freelist;
static struct lock scratchlock; /* whoever has something tried on the monitor's thread */

static struct kattr *
newkattr(void)
{
    struct kattr *k = freelist;

    if (k == NULL) {
        enum { Some = 16 };
        struct kattr *chunk = sysalloc(Some * sizeof *chunk);

        for (int i = 0; chunk != NULL && i < Some; i++) {
            chunk[i].next = freelist;
            freelist = &chunk[i];
        }
        k = freelist;
    }
    if (k != NULL) {
        freelist = k->next;
        k->has = 0;
    }
    return k;
}

static void
release(struct kattr *k)
{
    k->next = freelist;
    freelist = k;
}

/* Gives kernel thread tid (0: the calling one) what k has. The first error counts. */
static int
give(int tid, const struct kattr *k)
{
    struct sched_param param = { .sched_priority = k->priority };
    long r = 0;

    if (k->has & KattrCpus)
        r = sys3(SYS_sched_setaffinity, tid, A(k->size), A(k->cpus));
    if (r == 0 && (k->has & KattrPolicy))
        r = sys3(SYS_sched_setscheduler, tid, k->policy, A(&param));
    if (r == 0 && (k->has & KattrNice))
        r = sys3(SYS_setpriority, PRIO_PROCESS, tid, k->nice);
    return (int)r;
}

/* Would the kernel grant it? */
static int
attempt(const struct kattr *k)
{
    static const struct sched_param zero;
    struct kattr before = { .has = k->has & ~(unsigned)KattrPolicy, .size = sizeof before.cpus };
    int tid = load_rlx(&sysmontid), r;
    struct kattr probe = *k;
    struct g *me = pin();

    /* A thread that went to SCHED_IDLE or a higher nice value might not get back; but that is granted to all. */
    if ((k->has & KattrPolicy) && (k->policy & ~SCHED_RESET_ON_FORK) != SCHED_FIFO &&
        (k->policy & ~SCHED_RESET_ON_FORK) != SCHED_RR)
        probe.has &= ~(unsigned)KattrPolicy;
    lock(&scratchlock);
    if (k->has & KattrCpus)
        sys3(SYS_sched_getaffinity, tid, A(before.size), A(before.cpus));
    before.nice = 20 - (int)sys3(SYS_getpriority, PRIO_PROCESS, tid, 0);
    if ((probe.has & KattrNice) && k->nice >= before.nice)
        probe.has &= ~(unsigned)KattrNice;
    r = give(tid, &probe);
    if (probe.has & KattrPolicy)
        sys3(SYS_sched_setscheduler, tid, SCHED_OTHER, A(&zero));
    before.has = probe.has & (KattrCpus | KattrNice);
    give(tid, &before);
    unlock(&scratchlock);
    unpin(me);
    if (r == 0 && (k->has & ~probe.has & KattrPolicy) != 0) {
        int policy = k->policy & ~SCHED_RESET_ON_FORK;

        if (k->priority != 0 || (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE))
            r = -EINVAL;
    }
    return r;
}

/* klock held. Later requests win over earlier ones of their kind. */
static bool
keep(struct g *gp, const struct kattr *k)
{
    struct kattr *mine = gp->kattr != NULL ? gp->kattr : newkattr();

    if (mine == NULL)
        return false;
    if (k->has & KattrCpus) {
        memcpy(mine->cpus, k->cpus, sizeof mine->cpus);
        mine->size = k->size;
    }
    if (k->has & KattrPolicy) {
        mine->policy = k->policy;
        mine->priority = k->priority;
    }
    if (k->has & KattrNice)
        mine->nice = k->nice;
    mine->has |= k->has;
    gp->kattr = mine;
    gp->sigwork = true;
    return true;
}

int
kattr_check(const struct kattr *k)
{
    return attempt(k);
}

int
kattr_leave(struct g *gp, const struct kattr *k)
{
    struct g *me = pin();
    bool kept;

    lock(&klock);
    kept = keep(gp, k);
    unlock(&klock);
    unpin(me);
    return kept ? 0 : -ENOMEM;
}

/* The kernel thread that has gp's attributes: its own M, if it is locked to one that has begun to run. */
static int
lockedtid(struct g *gp)
{
    struct m *mp = *(struct m *volatile *)&gp->lockedm;

    return mp != NULL && gp->affine ? load_rlx(&mp->tid) : 0;
}

int
kattr_set(struct g *gp, const struct kattr *k)
{
    int r, tid;

    if (gp == curg) {
        lockforgood(gp, GOSSAMER_LOCK_SCHEDULING);
        return give(0, k);
    }
    tid = lockedtid(gp);
    if (tid != 0)
        return give(tid, k);
    if ((r = attempt(k)) < 0 || (r = kattr_leave(gp, k)) < 0)
        return r;
    pokeg(gp);
    return 0;
}

int
kattr_get(struct g *gp, struct kattr *k)
{
    struct g *me;

    k->has = 0;
    if (gp == curg)
        return 0;
    me = pin();
    lock(&klock);
    if (gp->kattr != NULL)
        *k = *gp->kattr;
    unlock(&klock);
    unpin(me);
    return lockedtid(gp) != 0 ? lockedtid(gp) : load_rlx(&sigm.tid);
}

/* On gp, not pinned. */
void
kattr_apply(struct g *gp)
{
    struct kattr mine;
    struct g *me = pin();

    lock(&klock);
    mine.has = 0;
    if (gp->kattr != NULL) {
        mine = *gp->kattr;
        release(gp->kattr);
        gp->kattr = NULL;
    }
    unlock(&klock);
    unpin(me);
    if (mine.has != 0) {
        lockforgood(gp, GOSSAMER_LOCK_SCHEDULING);
        give(0, &mine);
    }
}

/* gp has ended before it came to that. */
void
kattr_drop(struct g *gp)
{
    struct g *me;

    if (gp->kattr == NULL)
        return;
    me = pin();
    lock(&klock);
    if (gp->kattr != NULL)
        release(gp->kattr);
    gp->kattr = NULL;
    unlock(&klock);
    unpin(me);
}

void
kattr_reset(void)
{
    store_rlx(&klock.key, 0);
    store_rlx(&scratchlock.key, 0);
    freelist = NULL;
}

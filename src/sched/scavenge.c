/* What has been idle for long is given back: kernel threads and the stacks of dead Gs.
 *
 * Ms: a burst of blocking calls may leave thousands. Idle ones are taken newest first, so those at the end of the
 * list have not been needed since; every IDLEMS as many end as were idle throughout (sched.minidle), but for some that
 * are kept. An M that still has children is never one of them: the kernel would send the signal that a child
 * asked for at its parent's death (prctl PR_SET_PDEATHSIG). Nor is m0, or the process would be a zombie.
 *
 * Stacks: each P keeps some dead Gs, with all the pages that they have used. What was not needed for IDLESTACK goes to the
 * central lists, and keeps two pages.
 *
 * All of it is sysmon's, who also knows when everything sleeps: it wakes once more for this (scavengein), and then not again.
 */
#include "sched/sched.h"
#include <errno.h>
#include <fcntl.h>

enum { KEPT = 8 };              /* idle Ms, beside one for each P */

int64_t idlems = INT64_C(5000000000), idlestacks = INT64_C(300000000000);
static int64_t lastms, laststacks;
static bool nochildren;         /* the kernel does not tell whether a thread has children */

/* Are there children of this kernel thread? /proc/self/task/TID/children lists them. */
static bool
haschildren(int tid)
{
    char path[48], c;
    long fd, n;

    path[format(path, sizeof path - 1, "/proc/self/task/%d/children", tid)] = '\0';
    fd = sys4(SYS_openat, AT_FDCWD, A(path), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        nochildren |= fd == -ENOENT;
        return true;
    }
    n = sys3(SYS_read, fd, A(&c), 1);
    sys3(SYS_close, fd, 0, 0);
    return n != 0;
}

/* Takes what can be spared from the end of the idle list. */
static struct m *
cutidle(void)
{
    struct m **at = &sched.midle, *rest = NULL;
    int keep;

    lock(&sched.lock);
    keep = sched.nmidle - sched.minidle + gomaxprocs + KEPT;
    if (keep < sched.nmidle) {
        for (int i = 0; i < keep; i++)
            at = &(*at)->schedlink;
        rest = *at;
        *at = NULL;
        sched.nmidle = keep;
    }
    sched.minidle = sched.nmidle;
    unlock(&sched.lock);
    return rest;
}

static void
endms(void)
{
    struct m *next;
    int back = 0;

    for (struct m *mp = cutidle(); mp != NULL; mp = next) {
        next = mp->schedlink;
        if (mp == &m0 || haschildren(load_rlx(&mp->tid))) {
            lock(&sched.lock);
            mp->schedlink = sched.midle;
            sched.midle = mp;
            sched.nmidle++;
            unlock(&sched.lock);
            back++;
            continue;
        }
        mp->dying = true;
        notewakeup(&mp->park);
    }
    lock(&sched.lock);
    sched.settled = gomaxprocs + KEPT + back;
    unlock(&sched.lock);
}

static void
freestacks(void)
{
    struct p *pp;

    lock(&sched.lock);          /* an idle P's lists are nobody's, as long as nobody can take it */
    for (pp = sched.pidle; pp != NULL; pp = pp->link)
        gfscavenge(pp);
    unlock(&sched.lock);
    for (int i = 0; i < gomaxprocs; i++)
        if (load_rlx(&allp[i].status) != Pidle)
            store_rlx(&allp[i].scavenge, true); /* its M's to do */
}

void
scavenge(int64_t now)
{
    if (now - lastms >= idlems && !nochildren) {
        lastms = now;
        endms();
    }
    if (now - laststacks >= idlestacks) {
        if (laststacks != 0)
            freestacks();
        laststacks = now;
    }
}

/* Every P is idle, sched.lock held: after how many ns there will be something to give back; 0: there will not. */
int64_t
scavengein(void)
{
    if (sched.nmidle > gomaxprocs + KEPT && sched.nmidle > sched.settled && !nochildren)
        return idlems;
    for (int i = 0; i < gomaxprocs; i++)
        if (allp[i].ngfree > 0)
            return idlestacks;
    return 0;
}

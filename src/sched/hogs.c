/* Wake-up preemption: a G that becomes ready while every P computes does not wait for the end of a slice.
 *
 * Go lets it wait: 10 ms for each spinner in front of it. A kernel would run it at once, and programs that were
 * written for kernel threads rely on that. So when every P is found busy with one G for half a millisecond
 * (hogs), whoever makes a G ready puts it at the head of the global queue and preempts the P that has run its
 * G longest (hogpreempt); sysmon meanwhile sleeps in the poller, with the next timer as deadline, and makes
 * ready what the hogs' Ps would only look at after their slice.
 *
 * Where no P computes for that long nothing of this happens: one load of a word that nobody writes.
 *
 * While this lasts the Ps take turns between the global queue and their own, and those who were woken go before the others in
 * the global queue, unless none of the others had a turn for 5 ms: where more is ready than there are Ps for, nobody waits for ever.
 *
 * Fairness: a hog is only preempted in favour of a G that has waited, and not in its first half millisecond; so hogs get at least
 * that between two wake-ups by others. Those that a hog makes itself are its own choice of the moment: see hogyield.
 */
#include "sched/sched.h"

/* SHARE: hogs that are preempted must have had at least this part of one P's time, a fourth, to count as still there. */
enum { TURNUS = 500, LINGER = 50 * 1000000, LONGEST = 10 * 1000000, SHARE = 4, PAUSE = 100000 };

_Atomic bool hogs;              /* sysmon writes */
static _Atomic uint64_t used;   /* ticks that hogs computed until they were preempted, since sysmon took it last */
static _Atomic bool pending;    /* a G waits at the head of the queue, but all slices were too young */

static uint64_t
age(struct p *pp, uint64_t ticks)
{
    uint64_t start = load_rlx(&pp->slicestart);

    return ticks > start ? ticks - start : 0;
}

/* The P that has run its G longest, of those that are not to stop already; *old in ticks. */
static struct p *
oldest(uint64_t *old)
{
    uint64_t now = cpu_ticks();
    struct p *best = NULL;

    *old = 0;
    for (int i = 0; i < gomaxprocs; i++) {
        struct p *pp = &allp[i];

        if (load_rlx(&pp->status) != Prunning || load_rlx(&pp->preempt))
            continue;
        if (best == NULL || age(pp, now) > *old) {
            best = pp;
            *old = age(pp, now);
        }
    }
    return best;
}

/* Work has been put at the head of the global queue. False: not yet, every G has just begun. */
static bool
trypreempt(void)
{
    uint64_t old;
    struct p *pp = oldest(&old);

    if (pp == NULL || old < TURNUS * ticks_per_us)
        return false;
    atomic_fetch_add_explicit(&used, old, memory_order_relaxed);
    store_rlx(&pp->global, true);
    preemptone(pp);
    return true;
}

/* sysmon tries again in time. */
void
hoglater(void)
{
    if (!atomic_exchange(&pending, true))
        netpollbreak();
}

/* A hog wakes another: it makes room itself, at the end of the call that wakes. There it has just given something back
 * that the other waits for. The middle of its slice is a bad place: a thread that holds a lock most of the time, and lets go of it for
 * a moment again and again (an interpreter's), would be holding it whenever the other looks. */
void
hogyield(struct m *mp)
{
    atomic_fetch_add_explicit(&used, age(mp->p, cpu_ticks()), memory_order_relaxed);
    store_rlx(&mp->p->global, true);
    store_rlx(&mp->p->preempt, true);
    mp->curg->sigwork = true;
    sched.count.preempts++;
}

void
hogpreempt(int n)
{
    for (; n > 0; n--)
        if (!trypreempt()) {
            hoglater();
            return;
        }
}

/* sysmon: do all Ps compute? For a while after they did, too: who preempted one has made it young. */
void
hoglook(int64_t now)
{
    static struct { uint32_t tick; int64_t since; } seen[MAXPROCS];
    static int64_t last, taken;
    bool all = load_rlx(&sched.npidle) == 0;

    /* For half a millisecond as we see it: slicestart is older where Gs follow one another without g0. */
    for (int i = 0; i < gomaxprocs; i++) {
        struct p *pp = &allp[i];
        uint32_t tick = load_rlx(&pp->schedtick);

        if (tick != seen[i].tick) {
            seen[i].tick = tick;
            seen[i].since = now;
        }
        all = all && load_rlx(&pp->status) == Prunning && now - seen[i].since >= TURNUS * INT64_C(1000);
    }
    /* As long as those that were preempted had computed for a good part of the time: with ten thousand connections a G's call
     * now and then lasts as long as a hog's slice, since the kernel does others' work in it. Not for as long as somebody who was
     * woken waits: where there are more connections than can be served, that is always. */
    if (now - taken >= LINGER / 2) {
        uint64_t had = atomic_exchange(&used, 0) / ticks_per_us * 1000;

        if (load_rlx(&hogs) && had >= (uint64_t)(now - taken) / SHARE)
            last = now;
        taken = now;
    }
    if (all)
        last = now;
    if (load_rlx(&hogs) != (now - last < LINGER))
        store_rlx(&hogs, now - last < LINGER);
}

/* sysmon: a round's sleep of at most `delay` ns while hogs is set. */
void
hogsleep(int64_t delay)
{
    int64_t now = nanotime(), until = now + (delay < LONGEST ? delay : LONGEST), when;
    struct glist list = { 0 };
    uint64_t old;

    if (load_rlx(&pending)) {
        struct p *pp = oldest(&old);
        int64_t left = pp != NULL && old / ticks_per_us < TURNUS ? (TURNUS - (int64_t)(old / ticks_per_us)) * 1000 : 1000;

        if (until > now + left)
            until = now + left;
    }
    store_rlx(&timerwatch, until);      /* who sets an earlier timer breaks our sleep */
    atomic_thread_fence(memory_order_seq_cst);
    when = timersnext(gomaxprocs, allp);
    if (when != 0 && when < until)
        until = when;
    if (netpollwatch(until > now ? until - now : 0, &sched.lastpoll, &list) && list.n == 0)
        sys_sleep(PAUSE);       /* an M is about to take the break, and would be in our way until then */
    store_rlx(&timerwatch, 0);
    sched.count.pollwakes += (uint64_t)list.n;
    now = nanotime();
    for (int i = 0; i < gomaxprocs; i++) {
        when = load_acq(&allp[i].timers.when0);
        if (when != 0 && when <= now)
            timersrun(&allp[i], now, &list);
    }
    injectglist(&list);
    if (load_rlx(&pending) && (globwoken() == 0 || trypreempt()))
        store_rlx(&pending, false);
}

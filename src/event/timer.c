/* Timers: a binary heap per P, in memory of our own that grows by doubling.
 *
 * A G arms its timer in the heap of the P it runs on and removes it there, wherever it runs by then; any
 * M may run the due timers of any heap. All of that happens under the heap's lock, so after timerdel
 * has returned nobody will claim the G for this timer any more.
 */
#include "event/event.h"
#include <string.h>

_Atomic int64_t timerwatch;

static void
place(struct timers *ts, struct timer *t, uint32_t i)
{
    ts->heap[i] = t;
    t->i = i + 1;
}

static void
up(struct timers *ts, struct timer *t, uint32_t i)
{
    for (; i > 0 && ts->heap[(i - 1) / 2]->when > t->when; i = (i - 1) / 2)
        place(ts, ts->heap[(i - 1) / 2], i);
    place(ts, t, i);
}

static void
down(struct timers *ts, struct timer *t, uint32_t i)
{
    for (;;) {
        uint32_t c = 2 * i + 1;

        if (c >= ts->n)
            break;
        if (c + 1 < ts->n && ts->heap[c + 1]->when < ts->heap[c]->when)
            c++;
        if (ts->heap[c]->when >= t->when)
            break;
        place(ts, ts->heap[c], i);
        i = c;
    }
    place(ts, t, i);
}

static void
earliest(struct timers *ts)
{
    int64_t when = ts->n > 0 ? ts->heap[0]->when : 0;

    if (load_rlx(&ts->when0) != when)
        store_rel(&ts->when0, when);
}

static void
drop(struct timers *ts, struct timer *t)
{
    uint32_t i = t->i - 1;
    struct timer *last = ts->heap[--ts->n];

    t->i = 0;
    if (last == t)
        return;
    if (i > 0 && ts->heap[(i - 1) / 2]->when > last->when)
        up(ts, last, i);
    else
        down(ts, last, i);
}

static void
grow(struct timers *ts)
{
    uint32_t cap = ts->cap ? ts->cap * 2 : 512;
    struct timer **heap = sysalloc(cap * sizeof *heap);

    if (heap == NULL)
        throw("out of memory for timers");
    if (ts->n > 0)
        memcpy(heap, ts->heap, ts->n * sizeof *heap);
    if (ts->heap != NULL)
        sys3(SYS_munmap, A(ts->heap), A(ts->cap * sizeof *heap), 0);
    ts->heap = heap;
    ts->cap = cap;
}

void
timeradd(struct p *pp, struct timer *t, int64_t when)
{
    struct timers *ts = &pp->timers;

    lock(&ts->lock);
    if (ts->n == ts->cap)
        grow(ts);
    t->when = when > 0 ? when : 1;
    store_rlx(&t->pp, pp);
    up(ts, t, ts->n++);
    earliest(ts);
    unlock(&ts->lock);
    if (unlikely(load_rlx(&timerwatch) > when))
        netpollbreak();
}

void
timerdel(struct timer *t)
{
    struct timers *ts = &load_rlx(&t->pp)->timers;

    lock(&ts->lock);
    if (t->i != 0) {
        drop(ts, t);
        earliest(ts);
    }
    unlock(&ts->lock);
}

void
timersrun(struct p *pp, int64_t now, struct glist *list)
{
    struct timers *ts = &pp->timers;

    lock(&ts->lock);
    while (ts->n > 0 && ts->heap[0]->when <= now) {
        struct timer *t = ts->heap[0];
        struct g *gp = t->gp;
        bool parked;

        drop(ts, t);
        if (gclaim(&gp->wake, WakeTimeout, &parked) && parked)
            glistpush(list, gp);
    }
    earliest(ts);
    unlock(&ts->lock);
}

int64_t
timersnext(int nprocs, struct p *ps)
{
    int64_t next = 0;

    for (int i = 0; i < nprocs; i++) {
        int64_t when = load_acq(&ps[i].timers.when0);

        if (when != 0 && (next == 0 || when < next))
            next = when;
    }
    return next;
}

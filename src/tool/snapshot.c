/*
 * Gs, Ms and Ps as they are at the moment.  The process goes on meanwhile, so
 * each G is consistent in itself only: it is read in one piece, and what lies
 * elsewhere (the object it waits for) counts only if the G has not run since.
 */
#include "inspect.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAXGS = 1 << 24, MAXMS = 1 << 16, TRIES = 4 };

static uint64_t
get64(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t
get32(const unsigned char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static bool
read64(const struct target *t, uint64_t addr, uint64_t *v)
{
    return target_read(t, addr, v, sizeof *v);
}

/* ---- one G ---- */

static bool
readobject(const struct target *t, struct gsnap *gp)
{
    const struct gossamer_wait *w = &t->l.waits[gp->reason];
    unsigned char requeued = 0;

    gp->object = 0;
    gp->requeued = false;
    gp->owner = 0;
    switch (w->on) {
    case GOSSAMER_ON_ADDRESS:
    case GOSSAMER_ON_MUTEX:
        if (!read64(t, gp->waiton + t->l.waiter.addr, &gp->object) ||
            !target_read(t, gp->waiton + t->l.waiter.requeued, &requeued, 1))
            return false;
        gp->requeued = requeued != 0;
        if (w->on == GOSSAMER_ON_MUTEX || gp->requeued)
            target_read(t, gp->object + t->l.mutexowner, &gp->owner, sizeof gp->owner);
        return true;
    case GOSSAMER_ON_JOIN:
        gp->object = gp->joining;
        return true;
    }
    return true;
}

static void
decode(const struct target *t, const unsigned char *b, struct gsnap *gp)
{
    const struct gossamer_layout *l = &t->l;

    gp->goid = (int64_t)get64(b + l->g.goid);
    gp->tid = (int)get32(b + l->g.tid);
    gp->status = get32(b + l->g.status);
    gp->reason = b[l->g.waitreason] % 32;
    gp->waiton = get64(b + l->g.waiton);
    gp->sp = get64(b + l->g.sp);
    gp->maddr = get64(b + l->g.m);
    gp->lockedm = get64(b + l->g.lockedm);
    gp->start = get64(b + l->g.start);
    gp->joining = get64(b + l->g.joining);
    gp->stklo = get64(b + l->g.stklo);
    gp->stkhi = get64(b + l->g.stkhi);
    gp->runs = get64(b + l->g.runs);
    gp->since = (int64_t)get64(b + l->g.waitsince);
    gp->timer = (int64_t)get64(b + l->g.timerwhen);
    gp->cpu = (int64_t)(get64(b + l->g.cpusampled) + get64(b + l->g.cpuexact));
    memcpy(gp->name, b + l->g.name, 16);
    gp->name[16] = '\0';
    if (gp->status > GOSSAMER_DEAD)
        gp->status = GOSSAMER_IDLE;
}

bool
snap_same(const struct target *t, const struct gsnap *gp)
{
    unsigned char b[4096];

    return target_read(t, gp->addr, b, t->l.g.size) && get64(b + t->l.g.runs) == gp->runs &&
           (int64_t)get64(b + t->l.g.goid) == gp->goid && get32(b + t->l.g.status) == gp->status &&
           get64(b + t->l.g.waiton) == gp->waiton;
}

/* A kept G that is read in its own creation has no id yet, or still the old one. */
bool
snap_g(const struct target *t, uint64_t addr, struct gsnap *gp, uint64_t *next)
{
    unsigned char b[4096];

    for (int try = 0; try < TRIES; try++) {
        bool ok = true;

        if (!target_read(t, addr, b, t->l.g.size))
            return false;
        /* the time is taken after the read: no sleep has more left than it was for */
        *gp = (struct gsnap){ .addr = addr, .m = -1, .p = -1, .at = target_clock(t) };
        decode(t, b, gp);
        *next = get64(b + t->l.g.alllink);
        if (gp->status != GOSSAMER_WAITING)
            return true;
        ok = readobject(t, gp);
        if (snap_same(t, gp) && ok)
            return true;
    }
    gp->object = 0;
    gp->owner = 0;
    return true;
}

uint32_t
snap_status(const struct gsnap *gp)
{
    if (gp->status == GOSSAMER_RUNNING)
        return gp->stolen ? GOSSAMER_SYSCALL : gp->m < 0 ? GOSSAMER_RUNNABLE : GOSSAMER_RUNNING;
    return gp->status;
}

bool
snap_ended(const struct target *t, const struct gsnap *gp)
{
    return gp->status == GOSSAMER_WAITING && t->l.waits[gp->reason].on == GOSSAMER_ON_END;
}

/* ---- Ms and Ps ---- */

static void
addcounters(struct gossamer_counters *sum, const struct gossamer_counters *c)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)c;

    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static bool
readms(const struct target *t, struct snap *s, uint64_t first)
{
    const struct gossamer_layout *l = &t->l;
    unsigned char b[4096];

    for (uint64_t addr = first; addr != 0 && s->nms < MAXMS; addr = get64(b + l->m.alllink)) {
        struct msnap *mp;

        if (!target_read(t, addr, b, l->m.size))
            return false;
        s->ms = xrealloc(s->ms, s->nms + 1, sizeof *s->ms);
        mp = &s->ms[s->nms++];
        *mp = (struct msnap){
            .addr = addr, .curg = get64(b + l->m.curg), .paddr = get64(b + l->m.p), .oldp = get64(b + l->m.oldp),
            .id = (int)get32(b + l->m.id), .tid = (int)get32(b + l->m.tid), .lostp = get32(b + l->m.lostp),
            .spinning = b[l->m.spinning] != 0, .locked = get64(b + l->m.lockedg) != 0,
        };
        mp->dead = mp->tid == 0;
        memcpy(&mp->count, b + l->m.counters, sizeof mp->count);
        addcounters(&s->count, &mp->count);
    }
    return true;
}

/* A list of Ms, bounded by their number: it may change while we follow it. */
static size_t
marklist(const struct target *t, struct snap *s, uint64_t addr, size_t off)
{
    size_t n = 0;

    for (; addr != 0 && n < s->nms; n++) {
        for (size_t i = 0; i < s->nms; i++)
            if (s->ms[i].addr == addr)
                *((bool *)((char *)&s->ms[i] + off)) = true;
        if (!read64(t, addr + t->l.m.link, &addr))
            break;
    }
    return n;
}

static bool
readps(const struct target *t, struct snap *s)
{
    const struct gossamer_layout *l = &t->l;
    unsigned char b[16384];

    s->nps = t->gomaxprocs > 0 && t->gomaxprocs <= 4096 ? (size_t)t->gomaxprocs : 0;
    s->ps = xrealloc(s->ps, s->nps, sizeof *s->ps);
    for (size_t i = 0; i < s->nps; i++) {
        uint64_t addr = (uint64_t)l->at.allp + i * l->p.size;

        if (!target_read(t, addr, b, l->p.size))
            return false;
        s->ps[i] = (struct psnap){
            .addr = addr, .maddr = get64(b + l->p.m), .id = (int)get32(b + l->p.id),
            .status = get32(b + l->p.status), .ngfree = (int)get32(b + l->p.ngfree),
            .qlen = get32(b + l->p.runqtail) - get32(b + l->p.runqhead) + (get64(b + l->p.runnext) != 0),
            .ntimers = get32(b + l->p.ntimers),
        };
        if (s->ps[i].qlen > 1 << 16)
            s->ps[i].qlen = 0;          /* read in the middle of a change */
    }
    return true;
}

bool
snap_counts(const struct target *t, struct snap *s)
{
    const struct gossamer_layout *l = &t->l;
    uint64_t sched = (uint64_t)l->at.sched, allms, midle = 0, mdead = 0;
    struct gossamer_counters own;

    s->now = target_clock(t);
    s->nms = 0;
    s->count = (struct gossamer_counters){ 0 };
    if (!read64(t, sched + l->sched.allms, &allms) || !read64(t, sched + l->sched.midle, &midle) ||
        !read64(t, sched + l->sched.mdead, &mdead) ||
        !target_read(t, sched + l->sched.counters, &own, sizeof own) ||
        !target_read(t, sched + l->sched.runqsize, &s->runqsize, sizeof s->runqsize) ||
        !target_read(t, sched + l->sched.nmspinning, &s->nmspinning, sizeof s->nmspinning) ||
        !target_read(t, sched + l->sched.boottime, &s->boottime, sizeof s->boottime) ||
        !readms(t, s, allms) || !readps(t, s))
        return target_lost(t);
    addcounters(&s->count, &own);
    marklist(t, s, midle, offsetof(struct msnap, idle));
    marklist(t, s, mdead, offsetof(struct msnap, dead));
    s->msalive = s->msidle = 0;
    for (size_t i = 0; i < s->nms; i++) {
        s->msalive += !s->ms[i].dead;
        s->msidle += !s->ms[i].dead && s->ms[i].curg == 0 && s->ms[i].paddr == 0;
    }
    return true;
}

/* ---- all of it ---- */

/* Which M and P a G is on; one that claims to run but is on none has just left. */
static void
place(struct snap *s, const struct table *bym, struct gsnap *gp)
{
    const uint64_t *mi = table_find(bym, gp->maddr);
    const struct msnap *mp = mi != NULL ? &s->ms[*mi] : NULL;
    uint64_t paddr;

    if (gp->status != GOSSAMER_RUNNING && gp->status != GOSSAMER_SYSCALL)
        return;
    if (mp == NULL || mp->curg != gp->addr)
        return;
    gp->m = (int)*mi;
    gp->stolen = gp->status == GOSSAMER_RUNNING && mp->lostp == 2;
    paddr = gp->stolen ? 0 : mp->paddr;
    for (size_t i = 0; i < s->nps && paddr != 0; i++)
        if (s->ps[i].addr == paddr)
            gp->p = (int)i;
}

static bool
readgs(const struct target *t, struct snap *s)
{
    uint64_t addr, next;
    size_t room = 0;

    if (!read64(t, (uint64_t)t->l.at.sched + t->l.sched.allgs, &addr))
        return false;
    for (; addr != 0 && s->ngs < MAXGS; addr = next) {
        if (s->ngs == room) {
            room = room != 0 ? 2 * room : 256;
            s->gs = xrealloc(s->gs, room, sizeof *s->gs);
        }
        if (!snap_g(t, addr, &s->gs[s->ngs], &next))
            return false;
        if (t->core != NULL && s->gs[s->ngs].goid == 0)
            return false;       /* a hole: gdb's gcore stops at the first guard page of a slab of stacks */
        s->ngs++;
    }
    return true;
}

static int
bygoid(const void *a, const void *b)
{
    int64_t x = ((const struct gsnap *)a)->goid, y = ((const struct gsnap *)b)->goid;

    return (x > y) - (x < y);
}

/* Ms first: a G that was on one of them then is looked at after it. */
bool
snap_take(struct target *t, struct snap *s)
{
    struct table bym = { 0 };

    *s = (struct snap){ 0 };
    if (!snap_counts(t, s))
        return false;
    if (!readgs(t, s))
        return target_lost(t);
    for (size_t i = 0; i < s->nms; i++)
        *table_at(&bym, s->ms[i].addr) = i;
    qsort(s->gs, s->ngs, sizeof *s->gs, bygoid);
    for (size_t i = 0; i < s->ngs; i++) {
        struct gsnap *gp = &s->gs[i];

        place(s, &bym, gp);
        s->bystatus[snap_status(gp)]++;
        if (gp->status != GOSSAMER_DEAD && gp->status != GOSSAMER_IDLE) {
            s->alive++;
            *table_at(&s->bytid, (uint64_t)gp->tid) = i + 1;
        }
    }
    table_free(&bym);
    s->now = target_clock(t);
    return true;
}

void
snap_free(struct snap *s)
{
    free(s->gs);
    free(s->ms);
    free(s->ps);
    table_free(&s->bytid);
    *s = (struct snap){ 0 };
}

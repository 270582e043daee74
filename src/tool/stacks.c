/*
 * gossamer stacks PID: every G's stack, in the shape in which Go prints them on
 * SIGQUIT.  Gs in the same state with the same stack are printed once, with
 * their number.
 */
#include "inspect.h"
#include "tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 12 };           /* ids of a group */

struct stoptions {
    const char *core;
    struct collect how;
};

static const struct option longopts[] = {
    { "core", required_argument, NULL, 'c' },
    { "each", no_argument, NULL, 'e' },
    { "goid", required_argument, NULL, 'g' },
    { "help", no_argument, NULL, 'h' },
    { "runtime", no_argument, NULL, 'r' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: gossamer stacks [-er] [-g GOID] PID\n"
"       gossamer stacks [-er] [-g GOID] --core FILE [PROGRAM]\n"
"Print the stack of every G of a process, which may hang or be stopped, or of\n"
"a core file.\n"
"\n"
"  -g, --goid GOID   this one only\n"
"  -e, --each        every G for itself (default: those with the same stack once)\n"
"  -r, --runtime     the frames of the runtime, too\n"
"      --core FILE   a core file; PROGRAM if it has been moved since\n";

/* ---- printing ---- */

static void
minutes(const struct group *g)
{
    int64_t lo = g->least / 60000000000, hi = g->most / 60000000000;

    if (hi == 0)
        return;
    if (lo == hi)
        printf(", %ld minute%s", hi, hi == 1 ? "" : "s");
    else
        printf(", %ld to %ld minutes", lo, hi);
}

/* Do all of the group wait for the same thing? A time is each one's own. */
static bool
samedetail(const struct target *t, const struct snap *s, const struct group *g)
{
    const struct gsnap *gp = &s->gs[g->members[0]];
    uint32_t on = t->l.waits[gp->reason].on;

    if (gp->status != GOSSAMER_WAITING || on == GOSSAMER_ON_NOTHING || on == GOSSAMER_ON_TIMER)
        return false;
    for (size_t i = 1; i < g->n; i++) {
        const struct gsnap *other = &s->gs[g->members[i]];

        if (other->status != gp->status || other->reason != gp->reason || other->object != gp->object ||
            other->owner != gp->owner || (on == GOSSAMER_ON_FD && other->waiton != gp->waiton))
            return false;
    }
    return true;
}

static void
heading(const struct target *t, const struct snap *s, const struct group *g)
{
    const struct gsnap *gp = &s->gs[g->members[0]];
    char detail[512], text[2048];

    if (g->n > 1) {
        printf("%zu goroutines [%s", g->n, g->state);
        minutes(g);
        if (samedetail(t, s, g)) {
            describe(t, s, gp, detail, sizeof detail);
            printf(detail[0] != '\0' ? ", %s" : "%s", printable(detail, text, sizeof text));
        }
        printf("]:");
        for (size_t i = 0; i < g->n && i < LISTED; i++)
            printf(" %ld", s->gs[g->members[i]].goid);
        printf(g->n > LISTED ? " ...\n" : "\n");
        return;
    }
    printf("goroutine %ld [%s", gp->goid, g->state);
    minutes(g);
    describe(t, s, gp, detail, sizeof detail);
    printf(detail[0] != '\0' ? ", %s" : "%s", printable(detail, text, sizeof text));
    printf("%s]:\n", gp->lockedm != 0 ? ", locked to thread" : "");
}

static void
frame(const struct place *p)
{
    printf("%s(...)\n\t", p->function);
    if (p->file != NULL)
        printf("%s:%d", p->file, p->line);
    else if (p->module[0] != '\0')
        printf("%s", p->module);
    else
        printf("0x%lx", p->address);
    printf(" +0x%lx\n", p->offset);
}

static void
printgroup(const struct target *t, const struct snap *s, const struct group *g)
{
    const struct gsnap *gp = &s->gs[g->members[0]];

    heading(t, s, g);
    if (g->missed) {
        printf("\tgoroutine could not be stopped (%s); stack unavailable\n\n", g->why);
        return;
    }
    if (snap_ended(t, gp))
        printf("\tit has ended; there is no stack%s\n", gp->start != 0 ? ", it began at" : "");
    for (int i = 0; i < g->stack.n; i++)
        frame(stack_place(&g->stack, i));
    if (g->stack.full)
        printf("...older frames elided: no more than %d are read...\n", MAXFRAMES);
    else if (g->stack.cut)
        printf("...more frames that cannot be followed...\n");
    else if (g->stack.n == 0 && gp->start != 0 && !snap_ended(t, gp))
        frame(symbol_at(gp->start, false));     /* made, but not begun */
    putchar('\n');
}

/* As Go begins: what it died of, and in which G. */
static void
death(const struct target *t, const struct snap *s)
{
    struct death d = core_death(t->core);
    const char *name = sigabbrev_np(d.signal), *what = sigdescr_np(d.signal);

    if (d.signal == 0)
        return;
    if (name != NULL && what != NULL)
        printf("SIG%s: %s", name, what);
    else
        printf("signal %d", d.signal);
    if (d.hasaddr)
        printf(", address 0x%lx", d.addr);
    for (size_t i = 0; i < s->ngs; i++)
        if (s->gs[i].m >= 0 && s->ms[s->gs[i].m].tid == d.tid) {
            printf(", in goroutine %ld\n\n", s->gs[i].goid);
            return;
        }
    printf(", in kernel thread %d, on no goroutine\n\n", d.tid);
}

static int
stacks(struct target *t, const struct stoptions *o)
{
    struct groups gr = { 0 };
    struct snap s;
    int status = EXIT_TARGET;

    if (!symbols_open(t) || !unwind_open(t) || !snap_take(t, &s) || !groups_collect(t, &s, &o->how, &gr))
        return EXIT_TARGET;
    if (gr.n == 0) {
        if (o->how.goid != 0)
            complain("%s: has no goroutine %ld", t->what, o->how.goid);
        else
            complain("%s: has no goroutines", t->what);
    } else {
        groups_sort(&gr);
        if (t->core != NULL && o->how.goid == 0)
            death(t, &s);
        for (size_t i = 0; i < gr.n; i++)
            printgroup(t, &s, &gr.list[i]);
        status = flushed();
    }
    groups_free(&gr);
    snap_free(&s);
    unwind_close();
    symbols_close();
    return status;
}

/* ---- the command ---- */

static bool
setgoid(struct stoptions *o, const char *arg)
{
    char *end;

    o->how.goid = strtol(arg, &end, 10);
    if (o->how.goid > 0 && *end == '\0')
        return true;
    complain("stacks: -g: '%s' is not the id of a goroutine", arg);
    return false;
}

int
stacks_main(int argc, char **argv)
{
    struct stoptions o = { 0 };
    struct target t;
    int c, status = EXIT_TARGET;

    while ((c = getopt_long(argc, argv, ":eg:r", longopts, NULL)) != -1)
        switch (c) {
        case 'c': o.core = optarg; break;
        case 'e': o.how.each = true; break;
        case 'g':
            if (!setgoid(&o, optarg))
                return EXIT_OWN;
            break;
        case 'r': o.how.raw = true; break;
        case 'h': return print(usage);
        default: return badusage("stacks", argv, c);
        }
    if (o.core == NULL ? optind + 1 != argc : optind + 1 < argc) {
        complain("stacks: one process id, or --core FILE, is needed (try gossamer stacks --help)");
        return EXIT_OWN;
    }
    if (o.core != NULL ? target_core(&t, o.core, argv[optind]) : target_open(&t, argv[optind])) {
        status = stacks(&t, &o);
        target_close(&t);
    }
    return status;
}

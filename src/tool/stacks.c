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
    const char *core, *exe;
    int64_t goid;               /* 0: all */
    bool each, raw;
};

struct group {
    struct stack stack;
    const char *state;
    size_t *members;            /* indices of s->gs */
    size_t n, room;
    int64_t least, most;        /* waits, ns */
    bool caught;
};

struct groups {
    struct group *list;
    size_t n, room;
    struct table byhash;        /* -> index + 1; the next with the same hash is looked for at hash + 1 */
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

/* ---- grouping ---- */

static struct group *
groupof(struct groups *gr, const struct stack *st, const char *state, bool caught, bool each)
{
    uint64_t hash = stack_hash(st, (uintptr_t)state);
    struct group *g;
    uint64_t *v;

    for (;; hash++) {
        v = table_at(&gr->byhash, hash);
        if (*v == 0)
            break;
        g = &gr->list[*v - 1];
        if (!each && caught && g->caught && g->state == state && stack_equal(&g->stack, st))
            return g;
    }
    *v = gr->n + 1;
    if (gr->n == gr->room) {
        gr->room = gr->room != 0 ? 2 * gr->room : 64;
        gr->list = xrealloc(gr->list, gr->room, sizeof *gr->list);
    }
    g = &gr->list[gr->n++];
    *g = (struct group){ .stack = *st, .state = state, .caught = caught, .least = INT64_MAX };
    return g;
}

static void
addmember(struct group *g, size_t i, int64_t wait)
{
    if (g->n == g->room) {
        g->room = g->room != 0 ? 2 * g->room : 4;
        g->members = xrealloc(g->members, g->room, sizeof *g->members);
    }
    g->members[g->n++] = i;
    if (wait < g->least)
        g->least = wait;
    if (wait > g->most)
        g->most = wait;
}

static bool
collect(struct target *t, struct snap *s, const struct stoptions *o, struct groups *gr)
{
    for (size_t i = 0; i < s->ngs; i++) {
        struct gsnap *gp = &s->gs[i];
        struct stack st = { 0 };
        bool caught;

        if (gp->status == GOSSAMER_IDLE || gp->status == GOSSAMER_DEAD || (o->goid != 0 && gp->goid != o->goid))
            continue;
        caught = capture(t, gp, &st);
        if (!caught) {
            if (!target_alive(t))
                return target_lost(t);
            if (gp->status == GOSSAMER_DEAD)
                continue;
            st.n = 0;
        }
        if (!o->raw)
            stack_trim(t, &st);
        addmember(groupof(gr, &st, statename(t, gp), caught, o->each || o->goid != 0), i, waitedfor(s, gp));
    }
    return true;
}

static int
bysize(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return x->members[0] > y->members[0] ? 1 : x->members[0] < y->members[0] ? -1 : 0;
}

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

static void
heading(const struct target *t, const struct snap *s, const struct group *g)
{
    const struct gsnap *gp = &s->gs[g->members[0]];
    char detail[512];

    if (g->n > 1) {
        printf("%zu goroutines [%s", g->n, g->state);
        minutes(g);
        printf("]:");
        for (size_t i = 0; i < g->n && i < LISTED; i++)
            printf(" %ld", s->gs[g->members[i]].goid);
        printf(g->n > LISTED ? " ...\n" : "\n");
        return;
    }
    printf("goroutine %ld [%s", gp->goid, g->state);
    minutes(g);
    describe(t, s, gp, detail, sizeof detail);
    printf(detail[0] != '\0' ? ", %s" : "%s", detail);
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
    if (!g->caught) {
        printf("\tgoroutine could not be stopped; stack unavailable\n\n");
        return;
    }
    for (int i = 0; i < g->stack.n; i++)
        frame(stack_place(&g->stack, i));
    if (g->stack.cut)
        printf("...more frames that cannot be followed...\n");
    else if (g->stack.n == 0 && gp->start != 0)
        frame(symbol_at(gp->start, false));     /* made, but not begun */
    putchar('\n');
}

static int
stacks(struct target *t, const struct stoptions *o)
{
    struct groups gr = { 0 };
    struct snap s;
    int status = EXIT_TARGET;

    if (!symbols_open(t) || !unwind_open(t) || !snap_take(t, &s) || !collect(t, &s, o, &gr))
        return EXIT_TARGET;
    if (gr.n == 0) {
        if (o->goid != 0)
            complain("%s: has no goroutine %ld", t->what, o->goid);
        else
            complain("%s: has no goroutines", t->what);
    } else {
        qsort(gr.list, gr.n, sizeof *gr.list, bysize);
        for (size_t i = 0; i < gr.n; i++)
            printgroup(t, &s, &gr.list[i]);
        status = flushed();
    }
    for (size_t i = 0; i < gr.n; i++)
        free(gr.list[i].members);
    free(gr.list);
    table_free(&gr.byhash);
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

    o->goid = strtol(arg, &end, 10);
    if (o->goid > 0 && *end == '\0')
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
        case 'e': o.each = true; break;
        case 'g':
            if (!setgoid(&o, optarg))
                return EXIT_OWN;
            break;
        case 'r': o.raw = true; break;
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

/*
 * gossamer top PID: what the scheduler does each second, the queues of the Ps,
 * and the Gs that are busiest.  Rates are differences of two looks.
 */
#include "inspect.h"
#include "tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BAR = 40, BATCHLINES = 20 };

struct toplook {
    struct target t;
    struct snap now, before;
    bool first;                 /* there is no look before */
    char key;
};

/* A G and what it did since the look before. */
struct row {
    const struct gsnap *gp;
    int64_t cpu;                /* ns */
    uint64_t runs;
    int64_t wait;
};

static const struct option longopts[] = {
    { "batch", no_argument, NULL, 'b' },
    { "count", required_argument, NULL, 'n' },
    { "delay", required_argument, NULL, 'd' },
    { "help", no_argument, NULL, 'h' },
    { "sort", required_argument, NULL, 'k' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: gossamer top [-b] [-d SECONDS] [-n COUNT] [--sort KEY] PID\n"
"Watch the scheduler of a process and its busiest Gs.\n"
"\n"
"  -b, --batch       lines instead of a screen\n"
"  -d, --delay SECONDS\n"
"                    between two looks (1)\n"
"  -n, --count N     end after N looks\n"
"      --sort KEY    cpu (the default), runs or wait\n"
"\n"
"Keys: c, r and w sort, space looks at once, q or Ctrl-C ends.\n";

/* ---- differences ---- */

static char sortkey;

static int
compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int64_t d = 0;

    if (sortkey == 'w')
        d = y->wait - x->wait;
    else if (sortkey == 'c')
        d = y->cpu - x->cpu;
    if (d == 0 && x->runs != y->runs)
        d = y->runs > x->runs ? 1 : -1;
    if (d == 0)
        d = x->gp->goid - y->gp->goid;
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* All living Gs, the busiest first; the caller frees it. */
static struct row *
rows(const struct toplook *l, size_t *n)
{
    struct row *list = xrealloc(NULL, l->now.ngs, sizeof *list);
    struct table old = { 0 };

    for (size_t i = 0; i < l->before.ngs; i++)
        *table_at(&old, l->before.gs[i].addr) = i;
    *n = 0;
    for (size_t i = 0; i < l->now.ngs; i++) {
        const struct gsnap *gp = &l->now.gs[i], *was = NULL;
        const uint64_t *at = table_find(&old, gp->addr);

        if (gp->status == GOSSAMER_DEAD || gp->status == GOSSAMER_IDLE)
            continue;
        if (at != NULL && l->before.gs[*at].goid == gp->goid)
            was = &l->before.gs[*at];
        list[(*n)++] = (struct row){
            gp, gp->cpu - (was != NULL ? was->cpu : 0), gp->runs - (was != NULL ? was->runs : 0),
            waitedfor(gp),
        };
    }
    table_free(&old);
    sortkey = l->key;
    if (*n > 1)
        qsort(list, *n, sizeof *list, compare);
    return list;
}

/* ---- text ---- */

static void
header(const struct toplook *l, FILE *f)
{
    const struct snap *s = &l->now;
    char up[32];

    fprintf(f, "%s, up %s: GOMAXPROCS=%d, %d Ms (%d idle, %d spinning), %zu stacks cached\n", l->t.what,
        duration(s->now - s->boottime, up, sizeof up), l->t.gomaxprocs, s->msalive, s->msidle, s->nmspinning,
        s->bystatus[GOSSAMER_DEAD]);
    fprintf(f, "%zu Gs: %zu running, %zu runnable, %zu syscall, %zu waiting\n", s->alive,
        s->bystatus[GOSSAMER_RUNNING], s->bystatus[GOSSAMER_RUNNABLE], s->bystatus[GOSSAMER_SYSCALL],
        s->bystatus[GOSSAMER_WAITING]);
}

static void
rates(const struct toplook *l, FILE *f)
{
    const struct gossamer_counters *a = &l->before.count, *b = &l->now.count;
    double s = (double)(l->now.now - (l->first ? l->now.boottime : l->before.now)) / 1e9;

#define RATE(x) (s > 0 ? (double)(b->x - a->x) / s : 0)
    fprintf(f, "%s: switches %.0f, steals %.0f, hand-offs %.0f + %.0f unannounced, preemptions %.0f of %.0f "
               "(%.0f put off), network wakes %.0f\n", l->first ? "per second so far" : "per second", RATE(switches),
        RATE(steals), RATE(handoffs), RATE(unannounced), RATE(preempted), RATE(preempts), RATE(deferred),
        RATE(pollwakes));
#undef RATE
}

static void
bar(FILE *f, unsigned n)
{
    for (unsigned i = 0; i < n && i < BAR; i++)
        putc('|', f);
    fputs(n > BAR ? "+\n" : "\n", f);
}

static void
queues(const struct snap *s, FILE *f, int max)
{
    static const char *const status[] = { "idle", "running", "syscall" };

    for (size_t i = 0; i < s->nps && (int)i < max; i++) {
        const struct psnap *pp = &s->ps[i];

        fprintf(f, "P%-4d %-8s queue %5u ", pp->id, pp->status < 3 ? status[pp->status] : "?", pp->qlen);
        bar(f, pp->qlen);
    }
    fprintf(f, "%-14s queue %5d ", "global", s->runqsize);
    bar(f, (unsigned)(s->runqsize > 0 ? s->runqsize : 0));
}

static void
busiest(const struct toplook *l, FILE *f, int lines)
{
    double s = (double)(l->now.now - (l->first ? l->now.boottime : l->before.now));
    size_t n;
    struct row *list = rows(l, &n);

    fprintf(f, "%7s %-17s %6s %9s %7s %5s %4s %-15s %s\n", "GOID", "STATE", "CPU%", "RUNS/s", "FOR", "M", "P", "NAME",
        "START");
    for (size_t i = 0; i < n && (int)i < lines; i++) {
        const struct row *r = &list[i];
        const struct gsnap *gp = r->gp;
        char m[16] = "-", p[16] = "-", since[32] = "-", name[80];

        if (gp->m >= 0)
            snprintf(m, sizeof m, "M%d", l->now.ms[gp->m].id);
        if (gp->p >= 0)
            snprintf(p, sizeof p, "P%d", l->now.ps[gp->p].id);
        if (r->wait > 0)
            duration(r->wait, since, sizeof since);
        fprintf(f, "%7ld %-17s %6.1f %9.0f %7s %5s %4s %-15s %s\n", gp->goid, statename(&l->t, gp),
            s > 0 ? 100.0 * (double)r->cpu / s : 0, s > 0 ? (double)r->runs * 1e9 / s : 0, since, m, p,
            gp->name[0] != '\0' ? printable(gp->name, name, sizeof name) : l->t.comm,
            gp->start != 0 ? symbol_at(gp->start, false)->function : "main");
    }
    free(list);
}

bool
top_text(struct toplook *l, char **text, int lines, int *head)
{
    int ps = l->t.gomaxprocs < lines / 3 ? l->t.gomaxprocs : lines / 3;
    struct snap fresh;
    size_t size;
    FILE *f;

    *text = NULL;
    if (!snap_take(&l->t, &fresh)) {
        snap_free(&fresh);
        return false;
    }
    snap_free(&l->before);
    l->first = l->now.gs == NULL;
    l->before = l->now;
    l->now = fresh;
    f = xmemstream(text, &size);
    header(l, f);
    rates(l, f);
    queues(&l->now, f, ps);
    putc('\n', f);
    *head = 5 + ps;         /* of the list */
    busiest(l, f, lines - *head - 1);
    xmemclose(f);
    return true;
}

void
top_sort(struct toplook *l, char key)
{
    l->key = key;
}

/* ---- the command ---- */

static int
batch(struct toplook *l, int64_t delay, long count)
{
    struct timespec ts = { delay / 1000000000, delay % 1000000000 };

    for (long i = 0; count == 0 || i < count; i++) {
        char *text;
        int head, status;

        if (i > 0)
            nanosleep(&ts, NULL);
        if (!top_text(l, &text, BATCHLINES + l->t.gomaxprocs, &head))
            return EXIT_TARGET;
        printf("%s%s", i > 0 ? "\n" : "", text);
        free(text);
        if ((status = flushed()) != 0)
            return status;
    }
    return 0;
}

static int
toppid(const char *pid, bool lines, int64_t delay, long count, char key)
{
    struct toplook l = { .key = key };
    int status = EXIT_TARGET;

    if (!target_open(&l.t, pid))
        return EXIT_TARGET;
    if (symbols_open(&l.t))
        status = lines ? batch(&l, delay, count) : topscreen(&l, delay);
    snap_free(&l.now);
    snap_free(&l.before);
    symbols_close();
    target_close(&l.t);
    return status;
}

static bool
number(const char *option, const char *arg, double min, double max, double *to)
{
    char *end;
    double d = strtod(arg, &end);

    if (end != arg && *end == '\0' && d >= min && d <= max) {
        *to = d;
        return true;
    }
    complain("top: %s: '%s' is not a number from %.10g to %.10g", option, arg, min, max);
    return false;
}

int
top_main(int argc, char **argv)
{
    double delay = 1, count = 0;
    bool lines = false;
    char key = 'c';
    int c;

    while ((c = getopt_long(argc, argv, ":bd:n:", longopts, NULL)) != -1)
        switch (c) {
        case 'b': lines = true; break;
        case 'd':
            if (!number("-d", optarg, 0.01, 86400, &delay))
                return EXIT_OWN;
            break;
        case 'n':
            if (!number("-n", optarg, 1, 1e9, &count))
                return EXIT_OWN;
            break;
        case 'k':
            if (strcmp(optarg, "cpu") != 0 && strcmp(optarg, "runs") != 0 && strcmp(optarg, "wait") != 0) {
                complain("top: --sort: '%s' is none of cpu, runs, wait", optarg);
                return EXIT_OWN;
            }
            key = optarg[0];
            break;
        case 'h': return print(usage);
        default: return badusage("top", argv, c);
        }
    if (optind + 1 != argc) {
        complain("top: one process id is needed (try gossamer top --help)");
        return EXIT_OWN;
    }
    return toppid(argv[optind], lines, (int64_t)(delay * 1e9), (long)count, key);
}

/*
 * gossamer ps PID: a header, and a line for each G.
 */
#include "inspect.h"
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 100 };           /* without -a */

enum key { GOID, WAIT, CPU, RUNS, STATE, NAME, START, NKEYS };

static const char *const keynames[NKEYS] = { "goid", "wait", "cpu", "runs", "state", "name", "start" };

struct psoptions {
    bool all, json;
    enum key sort;
    const char *state;
};

static const struct option longopts[] = {
    { "all", no_argument, NULL, 'a' },
    { "help", no_argument, NULL, 'h' },
    { "json", no_argument, NULL, 'j' },
    { "sort", required_argument, NULL, 'k' },
    { "state", required_argument, NULL, 's' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: gossamer ps [-a] [--sort KEY] [--state STATE] [--json] PID\n"
"List what each G of a process does.\n"
"\n"
"  -a, --all         all Gs, finished ones too (default: the first 100 living)\n"
"      --sort KEY    goid (the default), wait, cpu, runs, state, name or start\n"
"      --state STATE only these: running, runnable, syscall, waiting, dead, or\n"
"                    the beginning of a reason to wait, as \"IO wait\" or sync\n"
"      --json        for programs; always all living Gs\n";

/* ---- sorting ---- */

static const struct target *sorttarget;
static enum key sortkey;

static const char *
startname(const struct gsnap *gp)
{
    return gp->start != 0 ? symbol_at(gp->start, false)->function : "main";
}

static int
compare(const void *a, const void *b)
{
    const struct gsnap *x = *(struct gsnap *const *)a, *y = *(struct gsnap *const *)b;
    int64_t d = 0;

    switch (sortkey) {
    case WAIT: d = waitedfor(y) - waitedfor(x); break;
    case CPU: d = y->cpu - x->cpu; break;
    case RUNS: d = y->runs > x->runs ? 1 : y->runs < x->runs ? -1 : 0; break;
    case STATE: d = strcmp(statename(sorttarget, x), statename(sorttarget, y)); break;
    case NAME: d = strcmp(x->name, y->name); break;
    case START: d = strcmp(startname(x), startname(y)); break;
    default: break;
    }
    if (d == 0)
        d = x->goid - y->goid;
    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* Those that are asked for, in order; the caller frees the list. */
static struct gsnap **
selected(const struct target *t, const struct snap *s, const struct psoptions *o, size_t *n)
{
    struct gsnap **list = xrealloc(NULL, s->ngs, sizeof *list);
    bool dead = (o->all && !o->json) || (o->state != NULL && strcasecmp(o->state, "dead") == 0);

    *n = 0;
    for (size_t i = 0; i < s->ngs; i++) {
        struct gsnap *gp = &s->gs[i];

        if (gp->status == GOSSAMER_IDLE || (gp->status == GOSSAMER_DEAD && !dead))
            continue;
        if (o->state == NULL || statematches(t, gp, o->state))
            list[(*n)++] = gp;
    }
    sorttarget = t;
    sortkey = o->sort;
    if (o->sort != GOID)
        qsort(list, *n, sizeof *list, compare);
    return list;
}

/* ---- text ---- */

static void
header(const struct target *t, const struct snap *s)
{
    const struct gossamer_counters *c = &s->count;
    char up[32];

    printf("%s, up %s: GOMAXPROCS=%d, %d Ms (%d idle), %zu Gs: %zu running, %zu runnable, %zu syscall, %zu waiting; "
           "%zu stacks cached\n", t->what, duration(s->now - s->boottime, up, sizeof up), t->gomaxprocs, s->msalive,
        s->msidle, s->alive, s->bystatus[GOSSAMER_RUNNING], s->bystatus[GOSSAMER_RUNNABLE],
        s->bystatus[GOSSAMER_SYSCALL], s->bystatus[GOSSAMER_WAITING], s->bystatus[GOSSAMER_DEAD]);
    printf("switches %lu, steals %lu, hand-offs %lu + %lu unannounced, preemptions %lu of %lu (%lu put off), "
           "network wakes %lu\n", c->switches, c->steals, c->handoffs, c->unannounced, c->preempted, c->preempts,
        c->deferred, c->pollwakes);
    for (size_t i = 0; i < s->nps; i++) {
        static const char *const status[] = { "idle", "running", "syscall", "stopped" };
        const struct psnap *pp = &s->ps[i];
        int m = -1;

        for (size_t j = 0; j < s->nms; j++)
            if (s->ms[j].addr == pp->maddr && pp->status != 0)
                m = s->ms[j].id;
        printf("P%d %s", pp->id, status[pp->status < 4 ? pp->status : 3]);
        if (m >= 0)
            printf(" M%d", m);
        printf(" queue %u%s", pp->qlen, i + 1 < s->nps ? "; " : "");
    }
    printf("; global queue %d\n", s->runqsize);
}

static void
line(const struct target *t, const struct snap *s, const struct gsnap *gp)
{
    char detail[512], since[32] = "-", m[16] = "-", lwp[16] = "-", p[16] = "-", cpu[32] = "-", name[80], text[2048];

    describe(t, s, gp, detail, sizeof detail);
    if ((gp->status == GOSSAMER_WAITING || gp->status == GOSSAMER_SYSCALL) && gp->since > 0)
        duration(waitedfor(gp), since, sizeof since);
    if (gp->m >= 0) {
        snprintf(m, sizeof m, "M%d", s->ms[gp->m].id);
        snprintf(lwp, sizeof lwp, "%d", s->ms[gp->m].tid);
    }
    if (gp->p >= 0)
        snprintf(p, sizeof p, "P%d", s->ps[gp->p].id);
    if (gp->cpu > 0)
        duration(gp->cpu, cpu, sizeof cpu);
    printf("%7ld %-17s %7s %5s %7s %4s %7s %9lu %-15s %-20s %s\n", gp->goid, statename(t, gp), since, m, lwp, p, cpu,
        gp->runs, gp->name[0] != '\0' ? printable(gp->name, name, sizeof name) : t->comm, startname(gp),
        printable(detail, text, sizeof text));
}

static void
text(const struct target *t, const struct snap *s, const struct psoptions *o)
{
    size_t n, shown;
    struct gsnap **list = selected(t, s, o, &n);

    header(t, s);
    printf("\n%7s %-17s %7s %5s %7s %4s %7s %9s %-15s %-20s %s\n", "GOID", "STATE", "FOR", "M", "LWP", "P", "CPU",
        "RUNS", "NAME", "START", "DETAIL");
    shown = o->all || n <= SHOWN ? n : SHOWN;
    for (size_t i = 0; i < shown; i++)
        line(t, s, list[i]);
    if (shown < n)
        printf("... and %zu more; -a shows all\n", n - shown);
    free(list);
}

/* ---- JSON ---- */

static void
jsonfield(const char *key, const char *value)
{
    printf(",\"%s\":", key);
    json_string(stdout, value);
}

static void
jsonheader(const struct target *t, const struct snap *s)
{
    const struct gossamer_counters *c = &s->count;

    printf("{\"pid\":%d", t->pid);
    jsonfield("command", t->comm);
    printf(",\"gomaxprocs\":%d,\"uptime_ns\":%ld,\"global_queue\":%d", t->gomaxprocs, s->now - s->boottime,
        s->runqsize);
    printf(",\"ms\":%d,\"idle_ms\":%d", s->msalive, s->msidle);
    printf(",\"counts\":{\"alive\":%zu,\"running\":%zu,\"runnable\":%zu,\"syscall\":%zu,\"waiting\":%zu,\"dead\":%zu}",
        s->alive, s->bystatus[GOSSAMER_RUNNING], s->bystatus[GOSSAMER_RUNNABLE], s->bystatus[GOSSAMER_SYSCALL],
        s->bystatus[GOSSAMER_WAITING], s->bystatus[GOSSAMER_DEAD]);
    printf(",\"counters\":{\"switches\":%lu,\"steals\":%lu,\"handoffs\":%lu,\"unannounced\":%lu,\"preempts\":%lu,"
           "\"preempted\":%lu,\"deferred\":%lu,\"pollwakes\":%lu,\"rescued\":%lu,\"msmade\":%lu,\"msended\":%lu,"
           "\"scavenged\":%lu", c->switches, c->steals, c->handoffs, c->unannounced, c->preempts, c->preempted,
        c->deferred, c->pollwakes, c->rescued, c->msmade, c->msended, c->scavenged);
    printf(",\"locks\":{\"scheduling\":%lu,\"namespace\":%lu,\"credentials\":%lu,\"prctl\":%lu,\"syscall\":%lu,\"timer\":%lu,"
           "\"trace\":%lu,\"mutex\":%lu}}", c->locks[0], c->locks[1], c->locks[2], c->locks[3], c->locks[4], c->locks[5],
        c->locks[6], c->locks[7]);
    printf(",\"ps\":[");
    for (size_t i = 0; i < s->nps; i++)
        printf("%s{\"id\":%d,\"status\":%u,\"queue\":%u,\"timers\":%u}", i != 0 ? "," : "", s->ps[i].id,
            s->ps[i].status, s->ps[i].qlen, s->ps[i].ntimers);
    printf("],\"gs\":[");
}

static void
jsong(const struct target *t, const struct snap *s, const struct gsnap *gp)
{
    static const char *const status[] = { "idle", "runnable", "running", "syscall", "waiting", "dead" };
    char detail[512];

    describe(t, s, gp, detail, sizeof detail);
    printf("{\"goid\":%ld,\"tid\":%d", gp->goid, gp->tid);
    jsonfield("status", status[snap_status(gp)]);
    jsonfield("state", statename(t, gp));
    jsonfield("name", gp->name[0] != '\0' ? gp->name : t->comm);
    jsonfield("start", startname(gp));
    jsonfield("detail", detail);
    printf(",\"runs\":%lu,\"cpu_ns\":%ld", gp->runs, gp->cpu);
    if (gp->status == GOSSAMER_WAITING)
        printf(",\"wait_ns\":%ld", waitedfor(gp));
    if (gp->status == GOSSAMER_WAITING && t->l.waits[gp->reason].on == GOSSAMER_ON_FD)
        printf(",\"fd\":%d", (int)(uint32_t)gp->waiton);
    if (gp->object != 0 && t->l.waits[gp->reason].on != GOSSAMER_ON_JOIN)
        printf(",\"object\":\"0x%lx\"", gp->object);
    if (gp->owner != 0)
        printf(",\"owner_tid\":%d", gp->owner);
    if (gp->m >= 0)
        printf(",\"m\":%d,\"kernel_tid\":%d", s->ms[gp->m].id, s->ms[gp->m].tid);
    if (gp->p >= 0)
        printf(",\"p\":%d", s->ps[gp->p].id);
    putchar('}');
}

static void
json(const struct target *t, const struct snap *s, const struct psoptions *o)
{
    size_t n;
    struct gsnap **list = selected(t, s, o, &n);

    jsonheader(t, s);
    for (size_t i = 0; i < n; i++) {
        if (i != 0)
            putchar(',');
        putchar('\n');
        jsong(t, s, list[i]);
    }
    printf("]}\n");
    free(list);
}

/* ---- the command ---- */

static bool
setkey(struct psoptions *o, const char *name)
{
    for (int i = 0; i < NKEYS; i++)
        if (strcmp(name, keynames[i]) == 0) {
            o->sort = (enum key)i;
            return true;
        }
    complain("ps: --sort: '%s' is none of goid, wait, cpu, runs, state, name, start", name);
    return false;
}

/* Could any G be in that state? */
static bool
isstate(const struct target *t, const char *filter)
{
    static const char *const others[] = { "waiting", "runnable", "running", "syscall", "dead" };
    bool known = false;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        known |= strncasecmp(others[i], filter, strlen(filter)) == 0;
    for (size_t i = 0; i < 32; i++)
        known |= t->l.waits[i].name[0] != '\0' && strncasecmp(t->l.waits[i].name, filter, strlen(filter)) == 0;
    if (!known)
        complain("ps: --state: '%s' is no state (try gossamer ps --help)", filter);
    return known;
}

static int
ps(const char *pid, const struct psoptions *o)
{
    struct target t;
    struct snap s;
    int status = EXIT_TARGET;

    if (!target_open(&t, pid))
        return EXIT_TARGET;
    if (o->state != NULL && !isstate(&t, o->state))
        status = EXIT_OWN;
    else if (symbols_open(&t)) {
        if (snap_take(&t, &s)) {
            if (o->json)
                json(&t, &s, o);
            else
                text(&t, &s, o);
            status = flushed();
        }
        snap_free(&s);
        symbols_close();
    }
    target_close(&t);
    return status;
}

int
ps_main(int argc, char **argv)
{
    struct psoptions o = { 0 };
    int c;

    while ((c = getopt_long(argc, argv, ":a", longopts, NULL)) != -1)
        switch (c) {
        case 'a': o.all = true; break;
        case 'j': o.json = true; break;
        case 'k':
            if (!setkey(&o, optarg))
                return EXIT_OWN;
            break;
        case 's': o.state = optarg; break;
        case 'h': return print(usage);
        default: return badusage("ps", argv, c);
        }
    if (optind + 1 != argc) {
        complain("ps: one process id is needed (try gossamer ps --help)");
        return EXIT_OWN;
    }
    return ps(argv[optind], &o);
}

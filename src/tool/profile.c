/*
 * gossamer profile PID: where the Gs wait (one look at all of them), where they
 * compute (many looks at those that run), or which places grew between two looks.
 */
#include "inspect.h"
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HZ = 99, PLACES = 20 };  /* 99: not in step with what happens every 10 ms */
static const int64_t second = 1000000000;

enum what { WAITS, CPU, GROWTH };

struct proptions {
    enum what what;
    int seconds;                /* 0: the default */
    bool svg, raw;
    const char *file;
};

static const struct option longopts[] = {
    { "cpu", no_argument, NULL, 'c' },
    { "growth", no_argument, NULL, 'g' },
    { "help", no_argument, NULL, 'h' },
    { "output", required_argument, NULL, 'o' },
    { "runtime", no_argument, NULL, 'r' },
    { "seconds", required_argument, NULL, 's' },
    { "svg", no_argument, NULL, 'v' },
    { "wait", no_argument, NULL, 'w' },
    { NULL, 0, NULL, 0 },
};

static const char usage[] =
"usage: gossamer profile [--wait | --cpu | --growth] [--seconds N] [--svg]\n"
"                        [-r] [-o FILE] PID\n"
"Show in which places the Gs of a process are, as folded stacks with their number.\n"
"\n"
"      --wait        where all Gs are now, with what they wait for (the default)\n"
"      --cpu         where those that run compute, 99 looks a second\n"
"      --growth      places with more Gs at the end of the time than at its beginning\n"
"      --seconds N   how long --cpu and --growth look (10)\n"
"      --svg         a flame graph\n"
"  -o, --output FILE write to a file: pprof's format if it ends in .pb.gz, a flame\n"
"                    graph in .svg, else folded stacks\n"
"  -r, --runtime     the frames of the runtime, too\n";

static int64_t
clockns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return ts.tv_sec * second + ts.tv_nsec;
}

static void
sleepuntil(int64_t when)
{
    struct timespec ts = { when / second, when % second };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* ---- looking ---- */

static bool
lookonce(struct target *t, const struct proptions *o, struct groups *gr)
{
    struct collect how = { .raw = o->raw };
    struct snap s;
    bool ok = snap_take(t, &s) && groups_collect(t, &s, &how, gr);

    snap_free(&s);
    return ok;
}

/* Does the kernel thread run, on a CPU or waiting for one? */
static bool
onrun(int pid, int tid)
{
    char path[64], line[256];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    if ((f = fopen(path, "re")) == NULL)
        return false;
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    for (char *p = line + n; p > line; p--)
        if (*p == ')')
            return p[1] != '\0' && p[2] == 'R';
    return false;
}

/* One G that runs; or what its M does instead. */
static void
lookcpu(struct target *t, const struct proptions *o, const struct msnap *mp, struct groups *gr)
{
    struct stack st = { 0 };
    const char *state = NULL;
    struct gsnap gp;
    uint64_t next;

    if (mp->dead || !onrun(t->pid, mp->tid))
        return;
    if (mp->curg == 0) {
        state = "scheduler";
    } else {
        if (!snap_g(t, mp->curg, &gp, &next) || !capture(t, &gp, &st))
            return;
        if (!o->raw)
            stack_trim(t, &st);
        if (st.n == 0)
            state = "runtime";  /* it begins or ends */
    }
    group_add(group_of(gr, &st, state, false), 0, second / HZ);
}

/* For how long it looked, in ns: less than it should have if the process ended. 0: never. */
static int64_t
watchcpu(struct target *t, const struct proptions *o, struct groups *gr)
{
    int64_t begin = clockns(CLOCK_MONOTONIC), took = o->seconds * second;
    struct snap s = { 0 };
    bool ok = true;

    for (int i = 0; ok && i < o->seconds * HZ; i++) {
        sleepuntil(begin + i * second / HZ);
        capture_settle();
        ok = snap_counts(t, &s);
        for (size_t j = 0; ok && j < s.nms; j++)
            lookcpu(t, o, &s.ms[j], gr);
        if (!ok)
            took = i > 0 ? clockns(CLOCK_MONOTONIC) - begin : 0;
    }
    snap_free(&s);
    if (!ok && took > 0)
        complain("%s: the profile is of the %.1f s until then", t->what, (double)took / 1e9);
    else if (ok && gr->n == 0)
        complain("%s: %s: nothing was seen to run", t->what, target_state(t->pid) == 'T' ? "is stopped" : "sleeps");
    return took;
}

/* ---- growth ---- */

struct place_growth {
    const struct group *g;
    int64_t grew;
};

static int
bygrowth(const void *a, const void *b)
{
    const struct place_growth *x = a, *y = b;

    return x->grew != y->grew ? (x->grew < y->grew ? 1 : -1) : (x->g->n < y->g->n) - (x->g->n > y->g->n);
}

static void
printplace(const struct place_growth *pg)
{
    const struct stack *st = &pg->g->stack;
    char buf[PATH_MAX];

    printf("%+8ld %8zu  [%s]\n", pg->grew, pg->g->n, pg->g->state);
    for (int i = 0; i < st->n; i++) {
        const struct place *p = stack_place(st, i);

        printf("%19s %s", "", framename(p, buf, sizeof buf));
        if (p->file != NULL)
            printf("  %s:%d\n", p->file, p->line);
        else
            printf("  %s\n", p->module);
    }
}

static int
growth(struct target *t, const struct proptions *o)
{
    struct groups before = { 0 }, after = { 0 };
    struct place_growth *list = NULL;
    size_t n = 0;
    int status = EXIT_TARGET;

    if (lookonce(t, o, &before)) {
        sleepuntil(clockns(CLOCK_MONOTONIC) + o->seconds * second);
        if (lookonce(t, o, &after)) {
            for (size_t i = 0; i < after.n; i++) {
                struct group *g = &after.list[i];
                int64_t grew = (int64_t)g->n - (int64_t)group_of(&before, &g->stack, g->state, false)->n;

                if (grew <= 0 || strncmp(g->state, "run", 3) == 0)
                    continue;   /* who runs will be elsewhere in a moment */
                list = xrealloc(list, n + 1, sizeof *list);
                list[n++] = (struct place_growth){ g, grew };
            }
            if (n > 1)
                qsort(list, n, sizeof *list, bygrowth);
            if (n == 0)
                printf("no place has more Gs than %d s ago\n", o->seconds);
            else
                printf("    GREW      NOW  in %d s; %zu place%s\n", o->seconds, n, n == 1 ? "" : "s");
            for (size_t i = 0; i < n && i < PLACES; i++)
                printplace(&list[i]);
            status = flushed();
        }
    }
    free(list);
    groups_free(&before);
    groups_free(&after);
    return status;
}

/* ---- writing ---- */

static bool
endswith(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

static int
writeout(const struct proptions *o, const struct profile *p)
{
    bool svg = o->svg || (o->file != NULL && endswith(o->file, ".svg"));
    FILE *f = stdout;

    if (o->file != NULL && endswith(o->file, ".pb.gz"))
        return pprof_write(o->file, p) ? 0 : EXIT_OWN;
    if (o->file != NULL && (f = fopen(o->file, "we")) == NULL) {
        complain("%s: %s", o->file, strerror(errno));
        return EXIT_OWN;
    }
    if (svg)
        flame_write(f, p);
    else
        folded_write(f, p);
    if (f == stdout)
        return flushed();
    if (ferror(f) | fclose(f)) {
        complain("%s: %s", o->file, strerror(errno));
        return EXIT_OWN;
    }
    return 0;
}

static int
profile(struct target *t, const struct proptions *o)
{
    struct profile p = { .t = t, .cpu = o->what == CPU, .period = second / HZ };
    struct groups gr = { 0 };
    int status = EXIT_TARGET;

    if (o->what == GROWTH)
        return growth(t, o);
    p.begin = clockns(CLOCK_REALTIME);
    if (p.cpu)
        p.duration = watchcpu(t, o, &gr);
    if (p.cpu ? p.duration > 0 : lookonce(t, o, &gr)) {
        groups_sort(&gr);
        p.samples = xrealloc(NULL, gr.n, sizeof *p.samples);
        for (size_t i = 0; i < gr.n; i++) {
            const struct group *g = &gr.list[i];

            p.samples[i] = (struct sample){ &g->stack, g->state, (int64_t)g->n, g->waited };
        }
        p.n = gr.n;
        status = writeout(o, &p);
        free(p.samples);
    }
    groups_free(&gr);
    return status;
}

/* ---- the command ---- */

static bool
setseconds(struct proptions *o, const char *arg)
{
    char *end;
    long n = strtol(arg, &end, 10);

    if (end != arg && *end == '\0' && n > 0 && n <= 86400) {
        o->seconds = (int)n;
        return true;
    }
    complain("profile: --seconds: '%s' is not a number from 1 to 86400", arg);
    return false;
}

static int
profilepid(const char *pid, const struct proptions *o)
{
    struct target t;
    int status = EXIT_TARGET;

    if (!target_open(&t, pid))
        return EXIT_TARGET;
    if (symbols_open(&t) && unwind_open(&t))
        status = profile(&t, o);
    unwind_close();
    symbols_close();
    target_close(&t);
    return status;
}

int
profile_main(int argc, char **argv)
{
    struct proptions o = { 0 };
    int c, kinds = 0;

    while ((c = getopt_long(argc, argv, ":o:r", longopts, NULL)) != -1)
        switch (c) {
        case 'c': o.what = CPU; kinds++; break;
        case 'g': o.what = GROWTH; kinds++; break;
        case 'w': o.what = WAITS; kinds++; break;
        case 'o': o.file = optarg; break;
        case 'r': o.raw = true; break;
        case 'v': o.svg = true; break;
        case 's':
            if (!setseconds(&o, optarg))
                return EXIT_OWN;
            break;
        case 'h': return print(usage);
        default: return badusage("profile", argv, c);
        }
    if (optind + 1 != argc) {
        complain("profile: one process id is needed (try gossamer profile --help)");
        return EXIT_OWN;
    }
    if (o.what == GROWTH && (o.svg || o.file != NULL)) {
        complain("profile: --growth is a list of its own, without --svg and -o");
        return EXIT_OWN;
    }
    if (kinds > 1) {
        complain("profile: only one of --wait, --cpu and --growth can be given");
        return EXIT_OWN;
    }
    if (o.what == WAITS && o.seconds != 0) {
        complain("profile: --seconds is for --cpu and --growth; --wait looks once");
        return EXIT_OWN;
    }
    if (o.svg && o.file != NULL && endswith(o.file, ".pb.gz")) {
        complain("profile: --svg: '%s' is the name of a file for pprof", o.file);
        return EXIT_OWN;
    }
    if (o.seconds == 0)
        o.seconds = 10;
    return profilepid(argv[optind], &o);
}

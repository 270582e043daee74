/*
 * gossamer compare [-n RUNS] -- PROGRAM ARGS: is it worth it for this command?
 *
 * The command runs natively and on Gs in turn, so that what else the machine
 * does hits both alike, after one run that fills the caches.  Medians are
 * compared.  A difference counts only if it is larger than the runs of one kind
 * differ among themselves.
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAXRUNS = 1000 };
enum { WALL, CPU, MEMORY, CSWITCHES, NFIGURES };
enum { NATIVE, GS };

struct series {
    double at[NFIGURES][MAXRUNS];
    double median[NFIGURES], spread[NFIGURES];  /* spread: half the range, relative */
    int status;                 /* of the first run that did not end with 0 */
};

static const struct {
    const char *name, *unit, *key;
} figures[NFIGURES] = {
    { "wall", "ms", "wall_ms" }, { "CPU", "ms", "cpu_ms" }, { "peak memory", "KB", "memory_kb" },
    { "context switches", "", "context_switches" },
};

/* What GOSSAMER_STATS has counted, of all processes of all runs. */
static struct counter {
    const char *name;
    uint64_t n;
} counters[] = {
    { "blocks", 0 }, { "locked", 0 }, { "msmade", 0 }, { "switches", 0 }, { "handoffs", 0 }, { "unannounced", 0 },
    { "preempts", 0 }, { "deferred", 0 },
};

static const char usage[] =
"usage: gossamer compare [-n RUNS] [--json] [--] PROGRAM [ARGS...]\n"
"Run a command natively and on Gs in turn and say what differs. Its input is empty,\n"
"its output is thrown away.\n"
"\n"
"  -n, --runs RUNS   runs of each kind (5)\n"
"      --json        for programs\n";

/* ---- running ---- */

static void
child(const char *path, char **argv, const char *preload, const char *stats)
{
    int null = open("/dev/null", O_RDWR);

    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (*preload != '\0')
        setenv("LD_PRELOAD", preload, 1);
    else
        unsetenv("LD_PRELOAD");
    if (stats != NULL)
        setenv("GOSSAMER_STATS", stats, 1);
    else
        unsetenv("GOSSAMER_STATS");
    execv(path, argv);
    complain("compare: %s: %s", argv[0], strerror(errno));
    _exit(EXIT_NOEXEC);
}

static double
ms(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) * 1e3 + (double)(to->tv_nsec - from->tv_nsec) / 1e6;
}

/* One run, as the i-th of the series; false: we could not. */
static bool
once(struct series *s, int i, const char *path, char **argv, const char *preload, const char *stats)
{
    struct timespec from, to;
    struct rusage ru;
    int status;
    pid_t pid;

    clock_gettime(CLOCK_MONOTONIC, &from);
    pid = fork();
    if (pid == 0)
        child(path, argv, preload, stats);
    if (pid < 0 || wait4(pid, &status, 0, &ru) != pid) {
        complain("compare: %s", strerror(errno));
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (s == NULL)
        return true;
    if (status != 0 && s->status == 0)
        s->status = status;
    s->at[WALL][i] = ms(&from, &to);
    s->at[CPU][i] = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e3 +
                    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e3;
    s->at[MEMORY][i] = (double)ru.ru_maxrss;
    s->at[CSWITCHES][i] = (double)(ru.ru_nvcsw + ru.ru_nivcsw);
    return true;
}

static int
less(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void
summarize(struct series *s, int runs)
{
    for (int f = 0; f < NFIGURES; f++) {
        double *v = s->at[f], m;

        qsort(v, (size_t)runs, sizeof *v, less);
        m = runs % 2 != 0 ? v[runs / 2] : (v[runs / 2 - 1] + v[runs / 2]) / 2;
        s->median[f] = m;
        s->spread[f] = m > 0 ? (v[runs - 1] - v[0]) / 2 / m : 0;
    }
}

static void
readcounters(FILE *f)
{
    char line[256], name[64];
    unsigned long n;

    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "gossamer: stats: %63s %lu", name, &n) == 2)
            for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
                if (strcmp(counters[i].name, name) == 0)
                    counters[i].n += n;
}

static double
count(const char *name, int runs)
{
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (strcmp(counters[i].name, name) == 0)
            return (double)counters[i].n / runs;
    return 0;
}

/* ---- the verdict ---- */

static double
ratio(const struct series s[2], int f)
{
    double n = s[NATIVE].median[f], g = s[GS].median[f];

    return n > 0 ? g / n : g > 0 ? 1e3 : 1;
}

/* Less, as much, or more than natively: -1, 0, 1.  Below the floor it is the start of the process that is measured. */
static int
differs(const struct series s[2], int f, double least)
{
    static const double floor[NFIGURES] = { 3, 3, 1024, 0 };
    double spread = s[NATIVE].spread[f] > s[GS].spread[f] ? s[NATIVE].spread[f] : s[GS].spread[f];
    double t = spread > least ? spread : least, r = ratio(s, f);

    if (s[GS].median[f] - s[NATIVE].median[f] < floor[f] && s[NATIVE].median[f] - s[GS].median[f] < floor[f])
        return 0;
    return r > 1 + t ? 1 : r < 1 / (1 + t) ? -1 : 0;
}

static const char *
verdictof(const struct series s[2])
{
    int wall = differs(s, WALL, 0.05), cpu = differs(s, CPU, 0.10), memory = differs(s, MEMORY, 0.15);
    int d = wall != 0 ? wall : cpu != 0 ? cpu : memory;

    return d < 0 ? "helps" : d > 0 ? "hurts" : "parity";
}

static void
reason(const struct series s[2], const char *verdict, int runs, char *buf, size_t size)
{
    double switches = count("switches", runs), n = s[NATIVE].median[CSWITCHES], g = s[GS].median[CSWITCHES];

    if (count("blocks", runs) == 0)
        snprintf(buf, size, "the reason is not known: it makes no thread, or does not end by exit(3)");
    else if (strcmp(verdict, "helps") == 0 && g < n / 2)
        snprintf(buf, size, "%.0f switches in user space; %.0f in the kernel instead of %.0f", switches, g, n);
    else if (strcmp(verdict, "helps") == 0)
        snprintf(buf, size, differs(s, MEMORY, 0.15) < 0 ? "threads without kernel stacks; %.0f switches in user space"
            : "%.0f switches in user space", switches);
    else if (strcmp(verdict, "parity") == 0)
        snprintf(buf, size, "its threads seldom wait for each other: %.0f switches in %.0f ms", switches,
            s[GS].median[WALL]);
    else if (count("locked", runs) >= 1)
        snprintf(buf, size, "%.0f threads are locked to kernel threads (pins)", count("locked", runs));
    else if (count("unannounced", runs) >= 3)
        snprintf(buf, size, "%.0f unannounced hand-offs: it waits inside libc or in system calls of its own",
            count("unannounced", runs));
    else if (count("deferred", runs) > count("preempts", runs) / 2 && count("deferred", runs) >= 3)
        snprintf(buf, size, "%.0f of %.0f time slices could not be ended: it computes inside libc",
            count("deferred", runs), count("preempts", runs));
    else if (ratio(s, CPU) > 1.1 * ratio(s, WALL))
        snprintf(buf, size, "more CPU than wall time was added: kernel threads spin while they look for work");
    else if (count("handoffs", runs) > switches / 10)
        snprintf(buf, size, "%.0f hand-offs: system calls that block keep kernel threads busy", count("handoffs", runs));
    else
        snprintf(buf, size, "not to be seen in the counters: %.0f switches, %.0f kernel threads made", switches,
            count("msmade", runs));
}

static void
ended(int status, char *buf, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(buf, size, "signal %d", WTERMSIG(status));
    else
        snprintf(buf, size, "status %d", WEXITSTATUS(status));
}

/* The verdict, and why. */
static const char *
judged(const struct series s[2], int runs, char *why, size_t size)
{
    const char *verdict = verdictof(s);
    char first[32], second[32];

    ended(s[NATIVE].status, first, sizeof first);
    ended(s[GS].status, second, sizeof second);
    if (s[NATIVE].status != s[GS].status) {
        snprintf(why, size, "%s natively, %s on Gs", first, second);
        return "differs";
    }
    if (s[GS].status != 0)
        complain("compare: the command fails both ways (%s): what is compared may be its beginning only", first);
    reason(s, verdict, runs, why, size);
    return verdict;
}

static int
print_text(const struct series s[2], int runs)
{
    char why[256];
    const char *verdict = judged(s, runs, why, sizeof why);

    printf("%-18s %12s %12s %8s   (medians of %d)\n", "", "native", "gossamer", "ratio", runs);
    for (int f = 0; f < NFIGURES; f++) {
        int digits = f == WALL || f == CPU ? 1 : 0;

        printf("%-18s %12.*f %12.*f %8.2f   %s\n", figures[f].name, digits, s[NATIVE].median[f], digits,
            s[GS].median[f], ratio(s, f), figures[f].unit);
    }
    printf("verdict: %s (%s)\n", verdict, why);
    return flushed();
}

static int
print_json(const struct series s[2], int runs)
{
    char why[256];
    const char *verdict = judged(s, runs, why, sizeof why);

    printf("{\"runs\": %d, ", runs);
    for (int k = NATIVE; k <= GS; k++) {
        int status = s[k].status, sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

        printf("\"%s\": {\"status\": %d, \"signal\": %d", k == NATIVE ? "native" : "gossamer",
            sig != 0 ? 128 + sig : WEXITSTATUS(status), sig);
        for (int f = 0; f < NFIGURES; f++)
            printf(", \"%s\": %.3f", figures[f].key, s[k].median[f]);
        printf("}, ");
    }
    printf("\"counters\": {");
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        printf("%s\"%s\": %.1f", i > 0 ? ", " : "", counters[i].name, (double)counters[i].n / runs);
    printf("}, \"verdict\": \"%s\", \"reason\": \"%s\"}\n", verdict, why);
    return flushed();
}

/* ---- the command ---- */

/* Both kinds in turn; 0 or a status. */
static int
runall(struct series s[2], int runs, const char *path, char **argv, const char *lib)
{
    char stats[] = "/tmp/gossamer-compare-XXXXXX";
    char *with = preloadwith(getenv("LD_PRELOAD"), lib, true), *without = preloadwith(getenv("LD_PRELOAD"), lib, false);
    int fd = mkstemp(stats), status = 0;
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (with == NULL || without == NULL || f == NULL) {
        complain("compare: %s", strerror(errno));
        status = EXIT_OWN;
    }
    if (status == 0 && !once(NULL, 0, path, argv, without, NULL))
        status = EXIT_OWN;
    for (int i = 0; i < runs && status == 0; i++)
        if (!once(&s[NATIVE], i, path, argv, without, NULL) || !once(&s[GS], i, path, argv, with, stats))
            status = EXIT_OWN;
    if (status == 0)
        readcounters(f);
    if (fd >= 0)
        unlink(stats);
    if (f != NULL)
        fclose(f);
    free(with);
    free(without);
    return status;
}

static int
compare(char **argv, int runs, bool json)
{
    static struct series s[2];
    char path[PATH_MAX], lib[PATH_MAX], why[256];
    struct verdict v;
    int err = findprogram(argv[0], path, sizeof path), status;

    if (err != 0)
        return notrunnable(argv[0], err);
    judge(&v, path);
    if (v.gs && !findlibrary(lib, sizeof lib, why, sizeof why))
        refuse(&v, "%s", why);
    if (!v.gs) {
        complain("compare: %s: %s; there is nothing to compare", argv[0], v.why);
        return EXIT_OWN;
    }
    status = runall(s, runs, path, argv, lib);
    if (status != 0)
        return status;
    summarize(&s[NATIVE], runs);
    summarize(&s[GS], runs);
    status = json ? print_json(s, runs) : print_text(s, runs);
    return status != 0 ? status : s[NATIVE].status != s[GS].status;
}

int
compare_main(int argc, char **argv)
{
    static const struct option longopts[] = {
        { "help", no_argument, NULL, 'h' },
        { "json", no_argument, NULL, 'j' },
        { "runs", required_argument, NULL, 'n' },
        { NULL, 0, NULL, 0 },
    };
    bool json = false;
    long runs = 5;
    char *end;
    int c;

    while ((c = getopt_long(argc, argv, "+:n:", longopts, NULL)) != -1)
        switch (c) {
        case 'n':
            runs = strtol(optarg, &end, 10);
            if (*end != '\0' || runs < 1 || runs > MAXRUNS) {
                complain("compare: -n: '%s' is not a number from 1 to %d", optarg, MAXRUNS);
                return EXIT_OWN;
            }
            break;
        case 'j': json = true; break;
        case 'h': return print(usage);
        default: return badusage("compare", argv, c);
        }
    if (optind == argc) {
        complain("compare: no program given (try gossamer compare --help)");
        return EXIT_OWN;
    }
    return compare(argv + optind, (int)runs, json);
}

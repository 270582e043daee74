/*
 * gossamer [options] [--] PROGRAM [ARGS...]: run a program on Gs.
 *
 * Only the options are here; the name of a subcommand counts where PROGRAM
 * would stand, but not behind "--", so that a program of that name can be run.
 */
#include "tool.h"

#include "base/env.h"
#include "inspect.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


enum { OPT_CHILDREN = 256, OPT_REQUIRE, OPT_VERSION, OPT_HELP };

static const struct option longopts[] = {
    { "children", required_argument, NULL, OPT_CHILDREN },
    { "help", no_argument, NULL, OPT_HELP },
    { "require", no_argument, NULL, OPT_REQUIRE },
    { "version", no_argument, NULL, OPT_VERSION },
    { NULL, 0, NULL, 0 },
};

static const struct {
    const char *name;
    int (*run)(struct options *, char **);
    const char *usage;
} commands[] = {
    { "check", check, check_usage },
};

/* These have options of their own. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} inspectors[] = {
    { "compare", compare_main },
    { "profile", profile_main },
    { "ps", ps_main },
    { "stacks", stacks_main },
    { "top", top_main },
};

static const char usage[] =
"usage: gossamer [options] [--] PROGRAM [ARGS...]\n"
"       gossamer [options] check PROGRAM\n"
"       gossamer compare [-n RUNS] [--] PROGRAM [ARGS...]\n"
"       gossamer ps|stacks|profile|top [options] PID\n"
"Run a pthread program on goroutine-like threads, say whether it would, or\n"
"look into one that does.\n"
"\n"
"  -p N                   run on N processors (sets GOMAXPROCS)\n"
"  -s SIZE                stack size of a thread, as 256K or 1M\n"
"                         (sets GOSSAMER_STACK)\n"
"      --children=keep    child programs run on Gs too (the default)\n"
"      --children=drop    only this program does\n"
"      --require          exit with 125 rather than run on native threads\n"
"  -q                     no line when it runs on native threads\n"
"      --help             print this\n"
"      --version          print the version\n"
"\n"
"Commands (each has its own --help; \"gossamer -- ps\" runs a program ps):\n"
"  check PROGRAM          would it run on Gs?\n"
"  compare PROGRAM        run it natively and on Gs: what is the difference?\n"
"  ps PID                 what each G of a process does\n"
"  stacks PID             the stack of each G, as Go prints them; also of a core\n"
"  profile PID            where the Gs wait or compute: folded, pprof, SVG\n"
"  top PID                the scheduler and the busiest Gs, live\n";

void (*beforecomplaint)(void);

void
complain(const char *fmt, ...)
{
    va_list ap;
    char line[2 * PATH_MAX + 512];

    if (beforecomplaint != NULL)
        beforecomplaint();
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    /* One write: lines of several processes must not mix. */
    fprintf(stderr, "gossamer: %s\n", line);
}

int
flushed(void)
{
    if (ferror(stdout) || fflush(stdout) == EOF) {
        complain("standard output: %s", strerror(errno));
        return EXIT_OWN;
    }
    return 0;
}

int
print(const char *text)
{
    fputs(text, stdout);
    return flushed();
}

static bool
setprocs(struct options *opt, const char *arg)
{
    struct procs procs;

    env_procs(&procs, arg);
    if (procs.from != PROCS_ENV || procs.bad != 0) {
        complain("-p: '%s' is not a number from 1 to %d", arg, PROCS_MAX);
        return false;
    }
    opt->procs = arg;
    return true;
}

static bool
setstack(struct options *opt, const char *arg)
{
    unsigned long size;

    if (env_size(arg, &size) != 0 || size < MINSTACK || size > MAXSTACK) {
        complain("-s: '%s' is not a stack size (as 256K or 1M; from %luK to %luG)",
            arg, MINSTACK >> 10, MAXSTACK >> 30);
        return false;
    }
    opt->stack = arg;
    return true;
}

static bool
setchildren(struct options *opt, const char *arg)
{
    if (strcmp(arg, "keep") != 0 && strcmp(arg, "drop") != 0) {
        complain("--children: '%s' is neither keep nor drop", arg);
        return false;
    }
    opt->children = arg;
    return true;
}

/* getopt's own message for c == '?', with our name instead of argv[0]. */
static void
badoption(char **argv, int c)
{
    const char *missing = c == ':' ? " needs a value" : "";

    if (optopt > 0 && optopt < 256)
        complain("%s-%c%s (try --help)", c == ':' ? "" : "unknown option ",
            optopt, missing);
    else if (c == ':')
        complain("%s%s (try --help)", argv[optind - 1], missing);
    else if (optopt >= OPT_CHILDREN)
        complain("%s: takes no value (try --help)", argv[optind - 1]);
    else
        complain("unknown option %s (try --help)", argv[optind - 1]);
}

int
badusage(const char *command, char **argv, int c)
{
    char last[128];

    if (optopt > 0 && optopt < 256 && strncmp(argv[optind - 1], "--", 2) != 0)
        snprintf(last, sizeof last, "-%c", optopt);
    else
        snprintf(last, sizeof last, "%s", argv[optind - 1]);
    if (c == ':')
        complain("%s: %s needs a value (try gossamer %s --help)", command, last, command);
    else
        complain("%s: unknown option %s (try gossamer %s --help)", command, last, command);
    return EXIT_OWN;
}

/* Options up to the first operand; -1, or the status to exit with. */
static int
parse(struct options *opt, int argc, char **argv, const char *help)
{
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:p:s:q", longopts, NULL)) != -1) {
        bool ok = true;

        switch (c) {
        case 'p': ok = setprocs(opt, optarg); break;
        case 's': ok = setstack(opt, optarg); break;
        case 'q': opt->quiet = true; break;
        case OPT_CHILDREN: ok = setchildren(opt, optarg); break;
        case OPT_REQUIRE: opt->require = true; break;
        case OPT_VERSION: return print("gossamer " GOSSAMER_VERSION "\n");
        case OPT_HELP: return print(help);
        default: badoption(argv, c); ok = false; break;
        }
        if (!ok)
            return EXIT_OWN;
    }
    return -1;
}

/* Runs the inspector that the operand names; -1: it names none. */
static int
inspect(int argc, char **argv)
{
    int at = optind;

    for (size_t i = 0; i < sizeof inspectors / sizeof inspectors[0]; i++) {
        if (strcmp(argv[at], inspectors[i].name) != 0)
            continue;
        if (at != 1) {
            complain("%s: its options come behind it (-- %s would be a program)", argv[at], argv[at]);
            return EXIT_OWN;
        }
        optind = 0;             /* another list */
        return inspectors[i].run(argc - at, argv + at);
    }
    return -1;
}

int
main(int argc, char **argv)
{
    struct options opt = { 0 };
    int status = parse(&opt, argc, argv, usage);

    if (status >= 0)
        return status;
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0 && (status = inspect(argc, argv)) >= 0)
        return status;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (optind == argc || strcmp(argv[optind - 1], "--") == 0 ||
            strcmp(argv[optind], commands[i].name) != 0)
            continue;
        optind++;
        status = parse(&opt, argc, argv, commands[i].usage);
        if (status >= 0)
            return status;
        if (optind == argc) {
            complain("%s: no program given (try --help)", commands[i].name);
            return EXIT_OWN;
        }
        return commands[i].run(&opt, argv + optind);
    }
    if (optind == argc) {
        complain("no program given (try --help)");
        return EXIT_OWN;
    }
    return run(&opt, argv + optind);
}

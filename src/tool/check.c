/*
 * gossamer check PROGRAM: what would happen, and what this machine offers.
 *
 * Scripts read it: one "key: value" per line, the same keys in the same order
 * whatever the answer is.  The status is the verdict: 0 Gs, 1 native threads.
 */
#include "tool.h"

#include "base/env.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102          /* Linux 6.13 */
#endif

const char check_usage[] =
"usage: gossamer [-p N] [-s SIZE] check PROGRAM\n"
"Print whether a program would run on Gs and what this machine offers, as lines\n"
"\"key: value\"; the options are as for running it (gossamer --help).\n"
"The status is 0 if it would, 1 if it would run on native threads.\n";

static bool
have_fsgsbase(void)
{
    return (getauxval(AT_HWCAP2) & 2) != 0;
}

static bool
have_guard(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool ok;

    if (p == MAP_FAILED)
        return false;
    ok = madvise(p, page, MADV_GUARD_INSTALL) == 0;
    munmap(p, page);
    return ok;
}

/* On pipes, where it came later than on files. */
static bool
have_nowait(void)
{
    char c;
    struct iovec iov = { &c, 1 };
    int fd[2];
    bool ok;

    if (pipe(fd) != 0)
        return false;
    ok = preadv2(fd[0], &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EAGAIN;
    close(fd[0]);
    close(fd[1]);
    return ok;
}

static const char *
yesno(bool yes)
{
    return yes ? "yes" : "no";
}

static void
printprocs(const struct options *opt)
{
    static const char *const problem[] = {
        "none", "not a number from 1 up, ignored", "clamped to 256",
    };
    const char *from = "affinity mask";
    struct procs procs;

    env_procs(&procs, opt->procs != NULL ? opt->procs : getenv("GOMAXPROCS"));
    if (procs.from == PROCS_ENV)
        from = opt->policyprocs ? "policy" : opt->procs != NULL ? "-p" : "GOMAXPROCS";
    else if (procs.from == PROCS_CGROUP)
        from = "cgroup CPU quota";
    printf("gomaxprocs: %d\n", procs.n);
    printf("gomaxprocs-from: %s\n", from);
    printf("gomaxprocs-problem: %s\n", problem[procs.bad]);
    printf("cpus: %d\n", procs.ncpu);
}

int
check(struct options *opt, char **argv)
{
    char path[PATH_MAX], lib[PATH_MAX], why[256];
    struct verdict v;
    bool found;
    int err = findprogram(argv[0], path, sizeof path);

    if (err != 0)
        return notrunnable(argv[0], err);
    judge(&v, path);
    if (v.gs)
        policy(opt, &v, path);
    found = findlibrary(lib, sizeof lib, why, sizeof why);
    if (v.gs && !found)
        refuse(&v, "%s", why);
    printf("program: %s\n", path);
    printf("interpreter: %s\n", *v.interp != '\0' ? v.interp : "none");
    printf("verdict: %s\n", v.gs ? "Gs" : "native threads");
    printf("reason: %s\n", v.gs ? "none" : v.why);
    printprocs(opt);
    printf("library: %s\n", found ? lib : "none");
    printf("glibc: %s\n", gnu_get_libc_version());
    printf("fsgsbase: %s\n", yesno(have_fsgsbase()));
    printf("guard-regions: %s\n", yesno(have_guard()));
    printf("rwf-nowait: %s\n", yesno(have_nowait()));
    printf("policy: %s\n", opt->policy[0] != '\0' ? opt->policy : "none");
    if (fflush(stdout) == EOF) {
        complain("standard output: %s", strerror(errno));
        return EXIT_OWN;
    }
    return v.gs ? 0 : 1;
}

/*
 * How many Ps?  GOMAXPROCS says so; else the CPUs this process may run on,
 * limited by the CPU quota of its cgroups (cgroup.c).  Nonsense is ignored as
 * Go ignores it, but remembered, so that somebody can say so.
 *
 * This runs in the preloaded library before anything else does: no libc call,
 * and system calls are made right here, so that the tool can link the file
 * without the rest of the runtime.
 */
#include "base/env.h"
#include "base/scan.h"

#include <errno.h>

enum {
    MASK_WORDS = 1024,      /* affinity masks up to 65,536 CPUs */
};

static int
affinitycpus(void)
{
    unsigned long mask[MASK_WORDS];
    long r = call3(SYS_sched_getaffinity, 0, sizeof mask, (long)mask);
    int n = 0;

    for (long i = 0; i < r / (long)sizeof mask[0]; i++)
        for (unsigned long w = mask[i]; w != 0; w &= w - 1)
            n++;
    return n > 0 ? n : 1;
}

void
env_procs(struct procs *out, const char *gomaxprocs)
{
    const char *s = gomaxprocs;
    int limit;

    out->bad = 0;
    out->ncpu = affinitycpus();
    if (s != NULL && *s != '\0') {
        long n = number(&s);

        if (n > 0 && *s == '\0') {
            out->from = PROCS_ENV;
            out->bad = n > PROCS_MAX ? 2 : 0;
            out->n = n > PROCS_MAX ? PROCS_MAX : (int)n;
            return;
        }
        out->bad = 1;
    }
    limit = env_cgroup_limit("/proc/self/cgroup", "/proc/self/mountinfo");
    out->from = limit != 0 && limit < out->ncpu ? PROCS_CGROUP
        : PROCS_AFFINITY;
    out->n = out->from == PROCS_CGROUP ? limit : out->ncpu;
    if (out->n > PROCS_MAX)
        out->n = PROCS_MAX;
}

/* --- the rest of the environment --- */

const char *
env_get(char **envp, const char *name)
{
    if (envp == NULL)
        return NULL;
    for (; *envp != NULL; envp++) {
        const char *rest = after(*envp, name);

        if (rest != NULL && *rest == '=')
            return rest + 1;
    }
    return NULL;
}

int
env_size(const char *s, unsigned long *out)
{
    int shift = 0;
    long n;

    if (s == NULL || (n = number(&s)) < 0)
        return -EINVAL;
    switch (*s) {
    case 'k': case 'K': shift = 10; break;
    case 'm': case 'M': shift = 20; break;
    case 'g': case 'G': shift = 30; break;
    }
    if (shift != 0) {
        s++;
        if (s[0] == 'i' && s[1] == 'B')
            s++;
    }
    if (*s == 'B')
        s++;
    if (*s != '\0' || n > LONG_MAX >> shift || n == LONG_MAX)
        return -EINVAL;
    *out = (unsigned long)n << shift;
    return 0;
}

long
env_godebug(const char *godebug, const char *key, long dflt)
{
    const char *s = godebug;
    long value = dflt;

    while (s != NULL && *s != '\0') {
        const char *v = after(s, key);

        if (v != NULL && *v == '=') {
            int neg = *++v == '-';
            long n;

            v += neg;
            n = number(&v);
            if (n >= 0 && (*v == '\0' || *v == ','))
                value = neg ? -n : n;
        }
        while (*s != '\0' && *s++ != ',')
            ;
    }
    return value;
}

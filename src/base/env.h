/*
 * What the environment asks for: GOMAXPROCS and its default, sizes, GODEBUG.
 *
 * Linked into libgossamer.so and into the tool, so that what `gossamer check`
 * prints is what the library does.  Nothing here allocates, locks or calls a
 * libc function; all of it may run before the library is initialised.
 */
#ifndef GOSSAMER_BASE_ENV_H
#define GOSSAMER_BASE_ENV_H

enum {
    PROCS_MAX = 256,
};

struct procs {
    int n;                  /* effective value, 1..PROCS_MAX */
    enum { PROCS_ENV, PROCS_AFFINITY, PROCS_CGROUP } from;
    int bad;                /* 1: GOMAXPROCS is nonsense, ignored; 2: clamped */
    int ncpu;               /* CPUs of the affinity mask */
};

void env_procs(struct procs *out, const char *gomaxprocs);

/* CPUs that the cgroup quota allows, rounded up; 0: no limit found. */
int env_cgroup_limit(const char *proc_cgroup, const char *mountinfo);

/* The value of NAME in envp, or NULL. */
const char *env_get(char **envp, const char *name);

/* Bounds of the size of a stack, in bytes; the lower one is glibc's PTHREAD_STACK_MIN. */
#define MINSTACK 16384ul
#define MAXSTACK (1ul << 40)

/* "256K", "1M", "8MiB", "65536" to bytes; 0 or -EINVAL. */
int env_size(const char *s, unsigned long *out);

/* The number behind KEY in "a=1,b=2"; the last one counts, as in Go. */
long env_godebug(const char *godebug, const char *key, long dflt);

#endif

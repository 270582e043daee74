/*
 * How many CPUs do our cgroups let us use?
 *
 * The quota is bandwidth, not a CPU count, and it is set at any level: a pod
 * may be limited while the container in it is not.  So /proc/self/cgroup
 * (where are we in each hierarchy?) is matched with mountinfo (where is that
 * hierarchy mounted, and which part of it?), and every directory from ours up
 * to the mount point is asked.  Both cgroup versions, since hybrid hosts have
 * the cpu controller on v1 and the rest on v2.
 *
 * Go 1.25 takes max(ceil(quota/period), 2), from the leaf cgroup only.  We take
 * the lowest limit of all ancestors, and at least 1: a container of "250m"
 * with two Ps burns its quota twice as fast and is throttled with both
 * (row 33 of the hazards).
 */
#include "base/env.h"
#include "base/scan.h"

#include <errno.h>
#include <fcntl.h>

enum {
    LINE = 4096,            /* a longer line of mountinfo is no cgroup's */
};

static int
openread(const char *path)
{
    return (int)call3(SYS_open, (long)path, O_RDONLY | O_CLOEXEC, 0);
}

static long
readsome(int fd, char *buf, size_t n)
{
    long r;

    do
        r = call3(SYS_read, fd, (long)buf, (long)n);
    while (r == -EINTR);
    return r;
}

static void
closefd(int fd)
{
    call3(SYS_close, fd, 0, 0);
}

static size_t
length(const char *s)
{
    size_t n = 0;

    while (s[n] != '\0')
        n++;
    return n;
}

static int
same(const char *a, const char *b)
{
    const char *rest = after(a, b);

    return rest != NULL && *rest == '\0';
}

/* Is WORD one of the comma separated words of list? */
static int
haslistword(const char *list, const char *word)
{
    while (list != NULL && *list != '\0') {
        const char *rest = after(list, word);

        if (rest != NULL && (*rest == '\0' || *rest == ','))
            return 1;
        while (*list != '\0' && *list != ',')
            list++;
        if (*list == ',')
            list++;
    }
    return 0;
}

/* The next word at *s, ended in place; NULL at the end. */
static char *
word(char **s)
{
    char *start = *s, *p;

    if (*start == '\0')
        return NULL;
    for (p = start; *p != '\0' && *p != ' '; p++)
        ;
    if (*p == ' ')
        *p++ = '\0';
    *s = p;
    return start;
}

/* --- lines of a file --- */

struct lines {
    int fd;
    long pos, len;
    char buf[1024];
};

static int
nextchar(struct lines *in)
{
    if (in->pos == in->len) {
        in->pos = 0;
        in->len = readsome(in->fd, in->buf, sizeof in->buf);
        if (in->len <= 0) {
            in->len = 0;
            return -1;
        }
    }
    return (unsigned char)in->buf[in->pos++];
}

/* One line without its newline; what does not fit is cut off.  0: the end. */
static int
nextline(struct lines *in, char *line, size_t size)
{
    size_t n = 0;
    int c;

    while ((c = nextchar(in)) >= 0 && c != '\n')
        if (n < size - 1)
            line[n++] = (char)c;
    line[n] = '\0';
    return c >= 0 || n > 0;
}

/* --- cgroups --- */

/* quota/period rounded up; 0: no limit. */
static int
cpus(long quota, long period)
{
    long n;

    if (quota <= 0 || period <= 0 || quota == LONG_MAX)
        return 0;
    n = quota / period + (quota % period != 0);
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* The first line of dir[0..n)/file. */
static int
readvalue(char *dir, size_t n, const char *file, char *line, size_t size)
{
    struct lines in = { .fd = -1 };
    size_t flen = length(file);
    int ok;

    if (n + flen + 1 > LINE)
        return 0;
    for (size_t i = 0; i <= flen; i++)
        dir[n + i] = file[i];
    in.fd = openread(dir);
    dir[n] = '\0';
    if (in.fd < 0)
        return 0;
    ok = nextline(&in, line, size);
    closefd(in.fd);
    return ok;
}

/* v2: "max 100000" or "250000 100000". */
static int
limit_v2(char *dir, size_t n)
{
    char line[64];
    const char *s = line;
    long quota;

    if (!readvalue(dir, n, "/cpu.max", line, sizeof line))
        return 0;
    quota = number(&s);
    if (quota < 0 || *s != ' ')
        return 0;
    s++;
    return cpus(quota, number(&s));
}

/* v1: two files, and a quota of -1 for no limit. */
static int
limit_v1(char *dir, size_t n)
{
    char line[64];
    const char *s = line;
    long quota;

    if (!readvalue(dir, n, "/cpu.cfs_quota_us", line, sizeof line))
        return 0;
    quota = number(&s);
    if (!readvalue(dir, n, "/cpu.cfs_period_us", line, sizeof line))
        return 0;
    s = line;
    return cpus(quota, number(&s));
}

static int
lower(int a, int b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* The lowest limit from dir[0..n) up to its first `top` bytes. */
static int
climb(char *dir, size_t n, size_t top, int (*limit)(char *, size_t))
{
    int found = 0;

    for (;;) {
        found = lower(found, limit(dir, n));
        if (n <= top)
            return found;
        while (n > top && dir[--n] != '/')
            ;
        dir[n] = '\0';
    }
}

/*
 * Our path in the hierarchy: v2 is the one with an empty controller list, v1
 * the one whose list has "cpu".  Lines are "4:cpu,cpuacct:/a/b".
 */
static int
ourcgroup(const char *proc_cgroup, int v2, char *path, size_t size)
{
    struct lines in = { .fd = openread(proc_cgroup) };
    int found = 0;

    if (in.fd < 0)
        return 0;
    while (!found && nextline(&in, path, size)) {
        char *ctl = path, *p;

        while (*ctl != '\0' && *ctl++ != ':')
            ;
        for (p = ctl; *p != '\0' && *p != ':'; p++)
            ;
        if (*p != ':' || p[1] != '/')
            continue;
        *p++ = '\0';
        if (v2 ? *ctl != '\0' : !haslistword(ctl, "cpu"))
            continue;
        found = 1;
        for (ctl = path; (*ctl = *p) != '\0'; ctl++, p++)
            ;
    }
    closefd(in.fd);
    return found;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void
unescape(char *s)
{
    char *to = s;

    while (*s != '\0') {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
            s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
            *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
                (s[3] - '0'));
            s += 4;
        } else
            *to++ = *s++;
    }
    *to = '\0';
}

/*
 * If the line mounts our hierarchy: its root and mount point, which lie in
 * the line.  "36 35 0:31 ROOT MOUNT opts [optional...] - TYPE source SUPER".
 */
static int
cgroupmount(char *line, int v2, char **root, char **mount)
{
    char *type, *super, *w;

    for (int i = 0; i < 3; i++)
        if (word(&line) == NULL)
            return 0;
    *root = word(&line);
    *mount = word(&line);
    if (*root == NULL || *mount == NULL)
        return 0;
    do
        w = word(&line);
    while (w != NULL && !same(w, "-"));
    type = word(&line);
    if (w == NULL || type == NULL || word(&line) == NULL)
        return 0;
    super = word(&line);
    if (v2 ? !same(type, "cgroup2")
        : !same(type, "cgroup") || !haslistword(super, "cpu"))
        return 0;
    unescape(*root);
    unescape(*mount);
    return 1;
}

/* What of our path lies under the mounted root; "" if we cannot tell. */
static const char *
belowroot(const char *path, const char *root)
{
    const char *rest = same(root, "/") ? path : after(path, root);

    if (rest == NULL || *rest != '/' || rest[1] == '\0' ||
        after(path, "/..") != NULL)
        return "";
    return rest;
}

static int
hierarchy(const char *proc_cgroup, const char *mountinfo, int v2)
{
    struct lines in = { .fd = -1 };
    char path[LINE], line[LINE], dir[LINE];
    int found = 0;

    if (!ourcgroup(proc_cgroup, v2, path, sizeof path))
        return 0;
    in.fd = openread(mountinfo);
    if (in.fd < 0)
        return 0;
    /* A hierarchy mounted twice is rare and harmless: the lowest counts. */
    while (nextline(&in, line, sizeof line)) {
        char *root, *mount;
        const char *rest;
        size_t top, n = 0;

        if (!cgroupmount(line, v2, &root, &mount))
            continue;
        rest = belowroot(path, root);
        top = length(mount);
        if (top + length(rest) >= sizeof dir)
            continue;
        for (; *mount != '\0'; mount++)
            dir[n++] = *mount;
        for (; *rest != '\0'; rest++)
            dir[n++] = *rest;
        dir[n] = '\0';
        found = lower(found,
            climb(dir, n, top, v2 ? limit_v2 : limit_v1));
    }
    closefd(in.fd);
    return found;
}

int
env_cgroup_limit(const char *proc_cgroup, const char *mountinfo)
{
    return lower(hierarchy(proc_cgroup, mountinfo, 1),
        hierarchy(proc_cgroup, mountinfo, 0));
}

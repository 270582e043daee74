/*
 * The process that is looked at: its memory, what is mapped where, and the
 * library's description of itself.
 *
 * Memory is read with process_vm_readv, which neither stops the process nor
 * runs anything in it, and needs the permission to ptrace it.  The description is
 * found by the .dynsym of the mapped library.
 */
#include "inspect.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

static const char libname[] = "libgossamer.so";

size_t
target_readsome(const struct target *t, uint64_t addr, void *buf, size_t n)
{
    struct iovec local = { buf, n }, remote = { (void *)addr, n };
    ssize_t r;

    if (t->core != NULL)
        return core_read(t->core, addr, buf, n);
    r = process_vm_readv(t->pid, &local, 1, &remote, 1, 0);
    return r > 0 ? (size_t)r : 0;
}

bool
target_read(const struct target *t, uint64_t addr, void *buf, size_t n)
{
    return target_readsome(t, addr, buf, n) == n;
}

char
target_state(int pid)
{
    char path[64], line[512];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if ((f = fopen(path, "re")) == NULL)
        return 0;
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    for (char *p = line + n; p > line; p--)
        if (*p == ')')
            return p[1] != '\0' ? p[2] : '\0';
    return 0;
}

/* A zombie has no memory any more. */
bool
target_alive(const struct target *t)
{
    char state = t->core == NULL ? target_state(t->pid) : 'R';

    return state != 0 && state != 'Z' && state != 'X' && state != 'x';
}

bool
target_lost(const struct target *t)
{
    if (!target_alive(t))
        complain("%s: has ended meanwhile", t->what);
    else if (t->core != NULL)
        complain("%s: memory of the runtime is missing in the core", t->what);
    else
        complain("%s: its memory cannot be read any more (did it call exec?)", t->what);
    return false;
}

int64_t
target_clock(const struct target *t)
{
    struct timespec ts;
    int64_t now = 0;

    if (t->core != NULL) {
        target_read(t, (uint64_t)t->l.at.sched + t->l.sched.now, &now, sizeof now);
        return now;
    }
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* ---- mappings ---- */

static void
freemaps(struct target *t)
{
    for (size_t i = 0; i < t->nmaps; i++)
        free(t->maps[i].path);
    free(t->maps);
    free(t->modules);
    t->maps = NULL;
    t->modules = NULL;
    t->nmaps = t->nmodules = 0;
}

static bool
readmaps(struct target *t)
{
    char path[64], *line = NULL;
    size_t size = 0;
    ssize_t n;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", t->pid);
    if ((f = fopen(path, "re")) == NULL)
        return false;
    errno = 0;
    while ((n = getline(&line, &size, f)) > 0) {
        struct map m = { 0 };
        char perms[5];
        int at = 0;

        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &m.start, &m.end, perms, &m.offset, &at) < 4 || at == 0)
            continue;
        m.exec = perms[2] == 'x';
        m.path = xstrdup(line + at);
        t->maps = xrealloc(t->maps, t->nmaps + 1, sizeof *t->maps);
        t->maps[t->nmaps++] = m;
    }
    free(line);
    fclose(f);
    return errno == 0;
}

/* Loaded files: a mapping of the file's begin, and what follows of the same file. */
static void
findmodules(struct target *t)
{
    struct module *last = NULL;
    bool exec = false;

    for (size_t i = 0; i < t->nmaps; i++) {
        const struct map *m = &t->maps[i];

        if (m->path[0] != '/' && strcmp(m->path, "[vdso]") != 0)
            continue;
        if (last != NULL && m->offset != 0 && strcmp(last->path, m->path) == 0) {
            last->end = m->end;
            exec |= m->exec;
            continue;
        }
        if (m->offset != 0 && strcmp(m->path, "[vdso]") != 0)
            continue;
        if (last != NULL && !exec)
            t->nmodules--;      /* data only */
        t->modules = xrealloc(t->modules, t->nmodules + 1, sizeof *t->modules);
        last = &t->modules[t->nmodules++];
        *last = (struct module){ .start = m->start, .end = m->end, .path = m->path };
        exec = m->exec;
    }
    if (last != NULL && !exec)
        t->nmodules--;
}

bool
target_refresh(struct target *t)
{
    if (t->core == NULL) {
        freemaps(t);
        if (!readmaps(t))
            return false;
    }
    findmodules(t);
    return true;
}

struct module *
target_module(struct target *t, uint64_t addr)
{
    size_t lo = 0, hi = t->nmodules;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (addr >= t->modules[mid].end)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->nmodules && addr >= t->modules[lo].start ? &t->modules[lo] : NULL;
}

/* ---- the library's description ---- */

struct module *
target_library(struct target *t)
{
    for (size_t i = 0; i < t->nmodules; i++) {
        const char *base = strrchr(t->modules[i].path, '/');

        if (base != NULL && strncmp(base + 1, libname, sizeof libname - 1) == 0)
            return &t->modules[i];
    }
    return NULL;
}

static bool
sane(const struct gossamer_layout *l)
{
    return l->g.size <= 4096 && l->m.size <= 4096 && l->p.size <= 16384 && l->context.rsp <= 4096;
}

static bool
readlayout(struct target *t)
{
    const struct module *lib = target_library(t);
    struct gossamer_layout *l = &t->l;
    int active = 0;
    uint64_t addr;

    if (lib == NULL) {
        complain("%s: is not run by gossamer (%s is not loaded)", t->what, libname);
        return false;
    }
    addr = elfmem_symbol(t, lib, GOSSAMER_LAYOUT_SYMBOL);
    if (addr == 0 || !target_read(t, addr, l, offsetof(struct gossamer_layout, at)) ||
        memcmp(l->magic, GOSSAMER_LAYOUT_MAGIC, sizeof l->magic) != 0) {
        complain("%s: its %s does not describe itself (too old, or another library of that name)", t->what, libname);
        return false;
    }
    if (l->version != GOSSAMER_LAYOUT_VERSION || l->size != sizeof *l) {
        complain("%s: its %s has layout version %u, this gossamer reads %d", t->what, libname, l->version,
            GOSSAMER_LAYOUT_VERSION);
        return false;
    }
    if (!target_read(t, addr, l, sizeof *l) || !sane(l) ||
        !target_read(t, (uint64_t)l->at.active, &active, sizeof active) ||
        !target_read(t, (uint64_t)l->at.gomaxprocs, &t->gomaxprocs, sizeof t->gomaxprocs))
        return target_lost(t);
    if (!active) {
        complain("%s: has made no thread yet (gossamer is passive in it)", t->what);
        return false;
    }
    return true;
}

/* ---- opening ---- */

/* The process of a process or thread id; 0: there is none. */
static int
tgid(int tid)
{
    char path[64], line[128];
    int id = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", tid);
    if ((f = fopen(path, "re")) == NULL)
        return 0;
    while (id == 0 && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "Tgid: %d", &id);
    fclose(f);
    return id;
}

static void
readcomm(struct target *t)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/comm", t->pid);
    if ((f = fopen(path, "re")) != NULL) {
        if (fgets(t->comm, sizeof t->comm, f) != NULL)
            t->comm[strcspn(t->comm, "\n")] = '\0';
        fclose(f);
    }
    for (char *p = t->comm; *p != '\0'; p++)
        if (!isprint((unsigned char)*p))
            *p = '?';
    snprintf(t->what, sizeof t->what, "%d (%s)", t->pid, t->comm);
}

/* Can its memory be read at all? By the first byte of what is mapped. */
static bool
permitted(const struct target *t)
{
    char c;
    struct iovec local = { &c, 1 }, remote = { NULL, 1 };

    for (size_t i = 0; i < t->nmodules; i++) {
        remote.iov_base = (void *)t->modules[i].start;
        if (process_vm_readv(t->pid, &local, 1, &remote, 1, 0) == 1)
            return true;
        if (errno == EPERM || errno == EACCES) {
            complain("%s: no permission to look into it (%s)", t->what, strerror(errno));
            return false;
        }
    }
    if (t->nmodules != 0)
        return target_lost(t);
    if (!target_alive(t))
        complain("%s: has ended", t->what);
    else
        complain("%s: is a kernel thread", t->what);
    return false;
}

bool
target_open(struct target *t, const char *pid)
{
    char *end;
    long n;

    *t = (struct target){ 0 };
    errno = 0;
    n = strtol(pid, &end, 10);
    if (end == pid || *end != '\0' || n <= 0 || n > INT_MAX || errno != 0) {
        complain("'%s' is not a process id", pid);
        return false;
    }
    t->pid = tgid((int)n);
    if (t->pid == 0) {
        complain("%ld: no such process", n);
        return false;
    }
    readcomm(t);
    if (!target_refresh(t)) {
        if (errno == EACCES || errno == EPERM)
            complain("%s: no permission to look into it (%s)", t->what, strerror(errno));
        else
            complain("%s: has ended", t->what);
    } else if (permitted(t) && readlayout(t)) {
        return true;
    }
    target_close(t);
    return false;
}

bool
target_core(struct target *t, const char *file, const char *exe)
{
    *t = (struct target){ 0 };
    snprintf(t->what, sizeof t->what, "%.100s", file);
    if (core_open(t, file, exe)) {
        buildid_check(t, exe);
        findmodules(t);
        if (readlayout(t))
            return true;
    }
    target_close(t);
    return false;
}

void
target_close(struct target *t)
{
    freemaps(t);
    if (t->core != NULL)
        core_close(t->core);
    *t = (struct target){ 0 };
}

/*
 * Names for addresses: function, file and line, from the files that are mapped.
 *
 * elfutils' libdwfl, because it finds debug information where distributions put it
 * (by build id, in /usr/lib/debug), reads compressed and split forms of it, and
 * takes modules from a list of ours, so that it serves processes in other mount
 * namespaces and cores alike; binutils' addr2line is a program, and its library has
 * no stable interface.  Nothing is fetched from a network.
 */
#include "inspect.h"
#include "tool.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct target *target;
static Dwfl *dwfl;
static struct table places;     /* address * 2 + call -> struct place * */
static char *(*demangle)(const char *, char *, size_t *, int *);
static char *debugpath;

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .debuginfo_path = &debugpath,
};

static const char *
basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* The file as the process sees it; one that was replaced on disk is still behind map_files. */
static int
openfile(const struct target *t, const struct module *m)
{
    char path[PATH_MAX + 64];
    int fd;

    if (t->core != NULL)
        return open(m->path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < t->nmaps; i++)
        if (t->maps[i].start == m->start) {
            snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", t->pid, m->start, t->maps[i].end);
            if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0)
                return fd;
            break;
        }
    snprintf(path, sizeof path, "/proc/%d/root%s", t->pid, m->path);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void
report(struct target *t)
{
    dwfl_report_begin(dwfl);
    for (size_t i = 0; i < t->nmodules; i++) {
        const struct module *m = &t->modules[i];
        int fd = m->path[0] == '/' ? openfile(t, m) : -1;

        if (fd >= 0 && dwfl_report_elf(dwfl, basename_of(m->path), m->path, fd, m->start, false) == NULL)
            close(fd);          /* otherwise it is dwfl's */
    }
    dwfl_report_end(dwfl, NULL, NULL);
}

/* C++ names are readable where the machine has the C++ library; we do not need it ourselves. */
static void
finddemangler(void)
{
    void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    if (lib != NULL)
        *(void **)&demangle = dlsym(lib, "__cxa_demangle");
}

bool
symbols_open(struct target *t)
{
    unsetenv("DEBUGINFOD_URLS");
    target = t;
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL) {
        complain("libdw: %s", dwfl_errmsg(-1));
        return false;
    }
    finddemangler();
    report(t);
    return true;
}

void
symbols_close(void)
{
    if (dwfl != NULL)
        dwfl_end(dwfl);
    dwfl = NULL;
}

/* The module of the address; one more look at the mappings if it lies in none: dlopen. */
static Dwfl_Module *
moduleof(uint64_t addr)
{
    static uint64_t looked;     /* page for which it was in vain */
    Dwfl_Module *mod = dwfl_addrmodule(dwfl, addr);

    if (mod != NULL || target->core != NULL || addr >> 12 == looked)
        return mod;
    looked = addr >> 12;
    if (target_refresh(target))
        report(target);
    return dwfl_addrmodule(dwfl, addr);
}

static char *
functionname(Dwfl_Module *mod, uint64_t addr, uint64_t *offset)
{
    const char *name;
    char *readable;
    GElf_Sym sym;
    int status;

    name = dwfl_module_addrinfo(mod, addr, offset, &sym, NULL, NULL, NULL);
    if (name == NULL)
        return NULL;
    if (demangle != NULL && strncmp(name, "_Z", 2) == 0 &&
        (readable = demangle(name, NULL, NULL, &status)) != NULL)
        return readable;
    readable = xprintable(name);
    readable[strcspn(readable, "@")] = '\0';    /* a version */
    return readable;
}

/* dir/file, without the "x/.." that builds outside the tree leave in it. */
static char *
fullpath(const char *dir, const char *file)
{
    size_t n = dir != NULL ? strlen(dir) : 0;
    char *path, *up;

    if (file[0] == '/' || n == 0)
        return xstrdup(file);
    path = xrealloc(NULL, n + strlen(file) + 2, 1);
    sprintf(path, "%s/%s", dir, file);
    while ((up = strstr(path, "/../")) != NULL && up > path) {
        char *begin = up - 1;

        while (begin > path && *begin != '/')
            begin--;
        memmove(begin, up + 3, strlen(up + 3) + 1);
    }
    return path;
}

/* What there is to say of an address whose function has no name: it can be looked up in the file. */
static char *
nameless(struct place *p, const struct module *m, uint64_t pc)
{
    char buf[PATH_MAX];

    p->offset = m != NULL ? pc - m->start : 0;
    if (m != NULL)
        snprintf(buf, sizeof buf, "%s+0x%lx", p->module, p->offset);
    else
        snprintf(buf, sizeof buf, "0x%lx", pc);
    return xstrdup(buf);
}

const struct place *
symbol_at(uint64_t addr, bool call)
{
    uint64_t *v = table_at(&places, addr * 2 + call);
    uint64_t pc = addr - call;
    struct place *p;
    struct module *m;
    Dwfl_Module *mod;
    Dwfl_Line *line;

    if (*v != 0)
        return (struct place *)*v;
    p = xrealloc(NULL, 1, sizeof *p);
    *v = (uintptr_t)p;
    *p = (struct place){ .module = "", .address = addr };
    mod = moduleof(pc);
    m = target_module(target, pc);
    if (m != NULL)
        p->module = xprintable(basename_of(m->path));
    p->function = mod != NULL ? functionname(mod, pc, &p->offset) : NULL;
    p->known = p->function != NULL;
    if (!p->known)
        p->function = nameless(p, m, pc);
    p->offset += call;
    line = mod != NULL ? dwfl_module_getsrc(mod, pc) : NULL;
    if (line != NULL) {
        const char *file = dwfl_lineinfo(line, NULL, &p->line, NULL, NULL, NULL);

        if (file != NULL) {
            char *full = fullpath(dwfl_line_comp_dir(line), file);

            p->file = xprintable(full);
            free(full);
        }
    }
    return p;
}

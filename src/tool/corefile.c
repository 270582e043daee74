/*
 * A core file instead of a process.  Memory is in its segments; what the kernel left
 * out of them, the read-only pages of files, is read from those files, which
 * the note NT_FILE names.  Registers of the kernel threads are in NT_PRSTATUS.
 */
#include "inspect.h"
#include "tool.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

struct backing {
    char *path;
    int fd;                     /* -1: cannot be opened */
};

struct core {
    const unsigned char *file;
    size_t size;
    const Elf64_Phdr *ph;
    size_t nph, last;           /* last: the segment that was read last */
    const struct map *maps;     /* the target's */
    size_t nmaps;
    struct backing *backings;
    size_t nbackings;
    struct { int tid; struct regs regs; } *threads;
    size_t nthreads;
    struct death death;
};

static bool
covers(const Elf64_Phdr *ph, uint64_t addr)
{
    return ph->p_type == PT_LOAD && addr >= ph->p_vaddr && addr - ph->p_vaddr < ph->p_filesz;
}

static size_t
fromsegments(struct core *c, uint64_t addr, unsigned char *buf, size_t n)
{
    for (size_t i = covers(&c->ph[c->last], addr) ? c->last : 0; i < c->nph; i++) {
        const Elf64_Phdr *ph = &c->ph[i];
        uint64_t at = addr - ph->p_vaddr;

        if (!covers(ph, addr))
            continue;
        c->last = i;
        if (n > ph->p_filesz - at)
            n = ph->p_filesz - at;
        if (ph->p_offset > c->size || at > c->size - ph->p_offset || n > c->size - ph->p_offset - at)
            return 0;           /* a truncated core */
        memcpy(buf, c->file + ph->p_offset + at, n);
        return n;
    }
    return 0;
}

static int
backing(const struct core *c, const char *path)
{
    for (size_t i = 0; i < c->nbackings; i++)
        if (strcmp(c->backings[i].path, path) == 0)
            return c->backings[i].fd;
    return -1;
}

static size_t
fromfiles(const struct core *c, uint64_t addr, unsigned char *buf, size_t n)
{
    for (size_t i = 0; i < c->nmaps; i++) {
        const struct map *m = &c->maps[i];
        int fd;
        ssize_t r;

        if (addr < m->start || addr >= m->end)
            continue;
        if (n > m->end - addr)
            n = m->end - addr;
        if ((fd = backing(c, m->path)) < 0)
            return 0;
        r = pread(fd, buf, n, (off_t)(m->offset + (addr - m->start)));
        return r > 0 ? (size_t)r : 0;
    }
    return 0;
}

size_t
core_read(struct core *c, uint64_t addr, void *buf, size_t n)
{
    unsigned char *to = buf;
    size_t done = 0;

    while (done < n) {
        size_t got = fromsegments(c, addr + done, to + done, n - done);

        if (got == 0)
            got = fromfiles(c, addr + done, to + done, n - done);
        if (got == 0)
            break;
        done += got;
    }
    return done;
}

size_t
core_own(struct core *c, uint64_t addr, void *buf, size_t n)
{
    return fromsegments(c, addr, buf, n);
}

struct death
core_death(const struct core *c)
{
    return c->death;
}

bool
core_regs(const struct core *c, int tid, struct regs *regs)
{
    for (size_t i = 0; i < c->nthreads; i++)
        if (c->threads[i].tid == tid) {
            *regs = c->threads[i].regs;
            return true;
        }
    return false;
}

/* ---- notes ---- */

static void
addthread(struct core *c, const unsigned char *desc, size_t n)
{
    struct user_regs_struct r;
    struct elf_prstatus st;

    if (n < sizeof st)
        return;
    memcpy(&st, desc, sizeof st);
    memcpy(&r, &st.pr_reg, sizeof r);
    if (c->nthreads == 0)       /* the kernel writes the one that dies first */
        c->death = (struct death){ .signal = st.pr_cursig, .tid = st.pr_pid };
    c->threads = xrealloc(c->threads, c->nthreads + 1, sizeof *c->threads);
    c->threads[c->nthreads].tid = st.pr_pid;
    c->threads[c->nthreads++].regs = (struct regs){ r.rbx, r.rbp, r.r12, r.r13, r.r14, r.r15, r.rip, r.rsp };
}

/* It follows the first thread. */
static void
addsiginfo(struct core *c, const unsigned char *desc, size_t n)
{
    siginfo_t info;
    int sig = c->death.signal;

    if (n < sizeof info)
        return;
    memcpy(&info, desc, sizeof info);
    if (info.si_signo != sig || info.si_code <= 0 || info.si_code == SI_KERNEL)
        return;                 /* sent, or without an address */
    c->death.hasaddr = sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE;
    c->death.addr = (uint64_t)info.si_addr;
}

static void
addbacking(struct core *c, const char *path)
{
    for (size_t i = 0; i < c->nbackings; i++)
        if (strcmp(c->backings[i].path, path) == 0)
            return;
    c->backings = xrealloc(c->backings, c->nbackings + 1, sizeof *c->backings);
    c->backings[c->nbackings].path = xstrdup(path);
    c->backings[c->nbackings++].fd = open(path, O_RDONLY | O_CLOEXEC);
}

/* NT_FILE: count, page size; start, end, page offset each; then the names. The first is the program. */
static void
addfiles(struct target *t, const unsigned char *desc, size_t n, const char *exe)
{
    uint64_t head[2], entry[3];
    const char *name, *first, *path, *end = (const char *)desc + n;

    if (n < sizeof head)
        return;
    memcpy(head, desc, sizeof head);
    if (head[0] > (n - sizeof head) / sizeof entry)
        return;
    name = first = (const char *)desc + sizeof head + head[0] * sizeof entry;
    for (uint64_t i = 0; i < head[0]; i++) {
        size_t len = strnlen(name, (size_t)(end - name));

        if (name + len >= end)
            return;
        memcpy(entry, desc + sizeof head + i * sizeof entry, sizeof entry);
        path = exe != NULL && strcmp(name, first) == 0 ? exe : name;
        t->maps = xrealloc(t->maps, t->nmaps + 1, sizeof *t->maps);
        t->maps[t->nmaps++] = (struct map){ entry[0], entry[1], entry[2] * head[1], true, xstrdup(path) };
        addbacking(t->core, path);
        name += len + 1;
    }
}

static void
note(struct target *t, const Elf64_Nhdr *nh, const unsigned char *desc, const char *exe)
{
    struct elf_prpsinfo info;

    switch (nh->n_type) {
    case NT_SIGINFO:
        addsiginfo(t->core, desc, nh->n_descsz);
        break;
    case NT_PRSTATUS:
        addthread(t->core, desc, nh->n_descsz);
        break;
    case NT_PRPSINFO:
        if (nh->n_descsz >= sizeof info) {
            memcpy(&info, desc, sizeof info);
            info.pr_fname[sizeof info.pr_fname - 1] = '\0';
            printable(info.pr_fname, t->comm, sizeof t->comm);
        }
        break;
    case NT_FILE:
        addfiles(t, desc, nh->n_descsz, exe);
        break;
    }
}

static void
readnotes(struct target *t, const Elf64_Phdr *ph, const char *exe)
{
    const struct core *c = t->core;
    uint64_t at = ph->p_offset, end = ph->p_offset + ph->p_filesz;

    if (ph->p_offset > c->size || ph->p_filesz > c->size - ph->p_offset)
        return;
    while (end - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr nh;
        uint64_t name, desc;

        memcpy(&nh, c->file + at, sizeof nh);
        name = at + sizeof nh;
        desc = name + ((nh.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
        at = desc + ((nh.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (desc > end || at > end)
            return;
        if (nh.n_namesz == 5 && memcmp(c->file + name, "CORE", 5) == 0)
            note(t, &nh, c->file + desc, exe);
    }
}

/* ---- opening ---- */

static bool
findsegments(struct core *c)
{
    const Elf64_Ehdr *eh = (const Elf64_Ehdr *)c->file;
    const Elf64_Shdr *sh;

    if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_type != ET_CORE ||
        eh->e_machine != EM_X86_64 || eh->e_phoff > c->size)
        return false;
    c->nph = eh->e_phnum;
    if (c->nph == PN_XNUM) {    /* too many for that field */
        if (eh->e_shoff > c->size || c->size - eh->e_shoff < sizeof *sh)
            return false;
        sh = (const Elf64_Shdr *)(c->file + eh->e_shoff);
        c->nph = sh->sh_info;
    }
    c->ph = (const Elf64_Phdr *)(c->file + eh->e_phoff);
    return c->nph > 0 && c->nph <= (c->size - eh->e_phoff) / sizeof *c->ph;
}

static bool
mapfile(struct core *c, const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        complain("%s: %s", file, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    c->size = (size_t)st.st_size;
    c->file = S_ISREG(st.st_mode) && c->size >= sizeof(Elf64_Ehdr) ?
        mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (c->file == MAP_FAILED) {
        c->file = NULL;
        complain("%s: is not a core file", file);
        return false;
    }
    if (!findsegments(c)) {
        complain("%s: is not a core file of x86-64", file);
        return false;
    }
    return true;
}

bool
core_open(struct target *t, const char *file, const char *exe)
{
    struct core *c = t->core = xrealloc(NULL, 1, sizeof *c);
    char program[PATH_MAX];

    *c = (struct core){ 0 };
    if (!mapfile(c, file))
        return false;
    if (exe != NULL && (realpath(exe, program) == NULL || access(program, R_OK) != 0)) {
        complain("%s: %s", exe, strerror(errno));
        return false;
    }
    for (size_t i = 0; i < c->nph; i++)
        if (c->ph[i].p_type == PT_NOTE)
            readnotes(t, &c->ph[i], exe != NULL ? program : NULL);
    c->maps = t->maps;
    c->nmaps = t->nmaps;
    if (t->nmaps == 0) {
        complain("%s: names no files that were mapped", file);
        return false;
    }
    return true;
}

void
core_close(struct core *c)
{
    for (size_t i = 0; i < c->nbackings; i++) {
        if (c->backings[i].fd >= 0)
            close(c->backings[i].fd);
        free(c->backings[i].path);
    }
    if (c->file != NULL)
        munmap((void *)c->file, c->size);
    free(c->backings);
    free(c->threads);
    free(c);
}

/*
 * Would this program run on Gs?
 *
 * ld.so fails open: what it cannot preload into, it runs without a word.  So
 * we look at what the kernel will look at: the file, and for a script its
 * interpreter, and so on, as often as the kernel follows "#!" itself.
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <paths.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEAD = 256,             /* as much of a "#!" line as the kernel reads */
    DEPTH = 5,              /* "#!" interpreters in a row */
};

struct mapped {
    unsigned char *p;
    size_t size;
    int fd;
};

/* Always false: "return refuse(...)". */
bool
refuse(struct verdict *v, const char *fmt, ...)
{
    va_list ap;

    v->gs = false;
    va_start(ap, fmt);
    vsnprintf(v->why, sizeof v->why, fmt, ap);
    va_end(ap);
    return false;
}

static int
mapfile(struct mapped *m, const char *path)
{
    struct stat st;
    int err = 0;

    m->p = NULL;
    m->size = 0;
    m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (m->fd < 0)
        return errno;
    if (fstat(m->fd, &st) != 0)
        err = errno;
    else if (!S_ISREG(st.st_mode))
        err = EACCES;
    else if (st.st_size > 0) {
        m->size = (size_t)st.st_size;
        m->p = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0);
        if (m->p == MAP_FAILED)
            err = errno;
    }
    if (err != 0)
        close(m->fd);
    return err;
}

static void
unmapfile(struct mapped *m)
{
    if (m->size > 0)
        munmap(m->p, m->size);
    close(m->fd);
}

/*
 * One file of the chain.  True: it starts another one, whose path is in next.
 */
static bool
step(struct verdict *v, const struct mapped *m, char *next, size_t size)
{
    size_t n = m->size < HEAD ? m->size : HEAD;
    const char *head = n > 0 ? (const char *)m->p : "";

    if (n >= 4 && memcmp(head, "\177ELF", 4) == 0) {
        v->elf = *v->interp == '\0';
        if (elfcheck(v, m->p, m->size))
            securecheck(v, m->fd);
        return false;
    }
    if (n >= 2 && memcmp(head, "#!", 2) == 0)
        return scriptinterp(v, head, n, next, size);
    if (memchr(head, '\0', n) != NULL)
        return refuse(v, "neither an ELF file nor a script");
    snprintf(next, size, "%s", _PATH_BSHELL);       /* execvp's rule */
    return true;
}

/* What holds for every program. */
static bool
system_ok(struct verdict *v)
{
    const char *off = getenv("GOSSAMER_DISABLE");
    int major = 0, minor = 0;

    if (off != NULL && *off != '\0' && strcmp(off, "0") != 0)
        return refuse(v, "GOSSAMER_DISABLE is set");
    sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
    if (major < 2 || (major == 2 && minor < 34))
        return refuse(v, "glibc %s is older than 2.34",
            gnu_get_libc_version());
    return true;
}

void
judge(struct verdict *v, const char *path)
{
    char at[PATH_MAX], next[PATH_MAX];
    struct mapped m;
    bool more = true;
    int err;

    memset(v, 0, sizeof *v);
    v->gs = true;
    snprintf(at, sizeof at, "%s", path);
    for (int depth = 0; more; depth++) {
        if (depth > DEPTH) {
            refuse(v, "too many interpreters in a row");
            break;
        }
        err = mapfile(&m, at);
        if (err != 0) {
            v->missing = err == ENOENT && depth > 0;
            refuse(v, "cannot be read (%s)", strerror(err));
            break;
        }
        more = step(v, &m, next, sizeof next);
        unmapfile(&m);
        if (more) {
            memcpy(at, next, sizeof at);
            memcpy(v->interp, next, sizeof v->interp);
        }
    }
    if (v->gs)
        system_ok(v);
}

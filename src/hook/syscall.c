/* The calls of syscalls.def, the opens (a FIFO's waits for its other end), and syscall(2) itself. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "base/elfsym.h"
#include <linux/capability.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <termios.h>

/* Their next-in-line definitions: a table of its own, since the list is here. */
static struct {
#define SYSCALL(ret, name, params, ...) ret(*name) params;
#define PARKS SYSCALL
#include "hook/syscalls.def"
#undef SYSCALL
} realcalls;

void
syscallinit(void)
{
#define SYSCALL(ret, name, ...) *(void **)&realcalls.name = elfnext(#name);
#include "hook/syscalls.def"
#undef SYSCALL
}

/* A call that parks, and is no cancellation point unless the thread wants to be cancelled anywhere. */
#define nopoint(call) ({ \
        struct g *gp_ = getg(); \
        bool outer_ = gp_ != NULL && gp_->raw; \
        long r_; \
\
        if (gp_ != NULL) \
            gp_->raw = outer_ || !tlsasync(gp_); \
        r_ = (call); \
        if (gp_ != NULL) \
            gp_->raw = outer_; \
        r_; \
    })

#define CALL(ret, name, params, args, how, call) \
    HOOK ret \
    name params \
    { \
        long r; \
\
        if (unlikely(!active)) \
            return realcalls.name args; \
        if (((how) & NoPoint) == 0) \
            cancelpoint(); \
        r = (call); \
        if (r == -EINTR && ((how) & NoPoint) == 0) \
            cancelpoint(); \
        return (ret)sysret(r); \
    }
#undef PARKS
#define SYSCALL(ret, name, params, args, how, ...) CALL(ret, name, params, args, how, io_syscall(how, __VA_ARGS__))
#define PARKS(ret, name, params, args, how, call) CALL(ret, name, params, args, how, ((how) & NoPoint) ? nopoint(call) : (call))
#include "hook/syscalls.def"
#undef SYSCALL
#undef PARKS
#undef CALL

/* ---- open ---- */

static long
opening(int dir, const char *path, int flags, unsigned mode)
{
    long fd;

    cancelpoint();
    fd = io_syscall(0, SYS_openat, dir, A(path), flags, mode, 0, 0);
    if (fd >= 0)
        pdforget((int)fd);
    return sysret(fd);
}

static bool
hasmode(int flags)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

#define OPEN(name) \
    HOOK int \
    name(const char *path, int flags, ...) \
    { \
        unsigned mode = 0; \
        va_list ap; \
\
        if (hasmode(flags)) { \
            va_start(ap, flags); \
            mode = va_arg(ap, unsigned); \
            va_end(ap); \
        } \
        return active ? (int)opening(AT_FDCWD, path, flags, mode) : real.name(path, flags, mode); \
    }

#define OPENAT(name) \
    HOOK int \
    name(int dir, const char *path, int flags, ...) \
    { \
        unsigned mode = 0; \
        va_list ap; \
\
        if (hasmode(flags)) { \
            va_start(ap, flags); \
            mode = va_arg(ap, unsigned); \
            va_end(ap); \
        } \
        return active ? (int)opening(dir, path, flags, mode) : real.name(dir, path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

HOOK int
creat(const char *path, mode_t mode)
{
    return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

HOOK int creat64(const char *path, mode_t mode) __attribute__((alias("creat")));

/* ---- syscall(2) ---- */

/* Calls that have to be made on this kernel thread without giving up the P, or that do not return. */
static bool
plain(long nr)
{
    switch (nr) {
    case SYS_exit_group: case SYS_rt_sigreturn: case SYS_getpid:
    case SYS_getcpu: case SYS_membarrier:
        return true;
    }
    return false;
}

HOOK long
syscall(long nr, ...)
{
    long a[6];
    va_list ap;

    va_start(ap, nr);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (unlikely(!active) || plain(nr))
        return real.syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (affinesyscall(nr))
        affine(GOSSAMER_LOCK_SYSCALL);
    return sysret(rawcall(nr, a));
}

/* The calls of syscalls.def, the opens (a FIFO's waits for its other end), and syscall(2) itself. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "base/elfsym.h"
#include <linux/capability.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/wait.h>

/* Their next-in-line definitions: a table of its own, since the list is here. */
static struct {
#define SYSCALL(ret, name, params, ...) ret(*name) params;
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

#define SYSCALL(ret, name, params, args, how, ...) \
    HOOK ret \
    name params \
    { \
        long r; \
\
        if (unlikely(!active)) \
            return realcalls.name args; \
        if (((how) & NoPoint) == 0) \
            cancelpoint(); \
        r = io_syscall(how, __VA_ARGS__); \
        if (r == -EINTR && ((how) & NoPoint) == 0) \
            cancelpoint(); \
        return (ret)sysret(r); \
    }
#include "hook/syscalls.def"
#undef SYSCALL

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
    case SYS_exit: case SYS_exit_group:
    case SYS_execve: case SYS_execveat: case SYS_rt_sigreturn: case SYS_getpid:
    case SYS_getcpu: case SYS_membarrier:
        return true;
    }
    return false;
}

/* What has a hook goes through it, so that raw calls do not block where libc's would park. */
static bool
viahook(long nr, const long a[6], long *r)
{
    switch (nr) {
    case SYS_gettid: case SYS_set_tid_address: *r = gettid(); return true;
    case SYS_sched_yield: *r = sched_yield(); return true;
    case SYS_nanosleep: *r = interrupted(sleep_for((void *)a[0], (void *)a[1])); return true;
    case SYS_clock_nanosleep:
        *r = interrupted(sleep_clock((int)a[0], (int)a[1], (void *)a[2], (void *)a[3]));
        return true;
    case SYS_tgkill: *r = tgkill((pid_t)a[0], (pid_t)a[1], (int)a[2]); *r = *r < 0 ? -errno : 0; return true;
    case SYS_tkill:
        *r = tgkill((pid_t)sys3(SYS_getpid, 0, 0, 0), (pid_t)a[0], (int)a[1]);
        *r = *r < 0 ? -errno : 0;
        return true;
    case SYS_read: *r = io_read((int)a[0], (void *)a[1], (size_t)a[2]); return true;
    case SYS_write: *r = io_write((int)a[0], (void *)a[1], (size_t)a[2]); return true;
    case SYS_recvfrom:
        *r = io_recvfrom((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (void *)a[5]);
        return true;
    case SYS_sendto:
        *r = io_sendto((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (socklen_t)a[5]);
        return true;
    case SYS_accept4: *r = io_accept((int)a[0], (void *)a[1], (void *)a[2], (int)a[3]); return true;
    case SYS_close: *r = close((int)a[0]) < 0 ? -errno : 0; return true;
    case SYS_dup2: *r = dup2((int)a[0], (int)a[1]); *r = *r < 0 ? -errno : *r; return true;
    case SYS_dup3: *r = dup3((int)a[0], (int)a[1], (int)a[2]); *r = *r < 0 ? -errno : *r; return true;
    case SYS_close_range: *r = close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]) < 0 ? -errno : 0; return true;
    case SYS_capget: *r = capget((void *)a[0], (void *)a[1]) < 0 ? -errno : 0; return true;
    case SYS_capset: *r = capset((void *)a[0], (void *)a[1]) < 0 ? -errno : 0; return true;
    case SYS_sched_setaffinity: case SYS_sched_getaffinity: case SYS_sched_setscheduler: case SYS_sched_getscheduler:
    case SYS_sched_setparam: case SYS_sched_getparam: case SYS_setpriority: case SYS_getpriority:
        return affineraw(nr, a, r);
    case SYS_fork: case SYS_vfork: case SYS_clone: case SYS_clone3: *r = forkraw(nr, a); return true;
    case SYS_clock_gettime: *r = clock_gettime((clockid_t)a[0], (void *)a[1]); *r = *r < 0 ? -errno : 0; return true;
    case SYS_getrusage: *r = getrusage((__rusage_who_t)a[0], (void *)a[1]); *r = *r < 0 ? -errno : 0; return true;
    case SYS_timer_create: case SYS_timer_delete: *r = timerraw(nr, a); return true;
    case SYS_futex:
        if (!futex_ours((int)a[1]))
            return false;
        *r = futex_call((void *)a[0], (int)a[1], (uint32_t)a[2], (void *)a[3], (void *)a[4], (uint32_t)a[5]);
        return true;
    }
    return false;
}

HOOK long
syscall(long nr, ...)
{
    long a[6], r;
    va_list ap;

    va_start(ap, nr);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (unlikely(!active) || plain(nr))
        return real.syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (affinesyscall(nr))
        affine(GOSSAMER_LOCK_SYSCALL);
    if (!viahook(nr, a, &r))
        r = io_syscall(NoPoint, nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    return sysret(r);
}

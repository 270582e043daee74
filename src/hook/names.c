/* Other names that libc has for functions with a hook: those with underscores, which old programs and libraries import, those
 * that check their arguments (-D_FORTIFY_SOURCE), and those for large files. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <stdarg.h>

#define ALSO(ret, other, name, params, args) \
    HOOK ret other params; \
    HOOK ret \
    other params \
    { \
        return name args; \
    }

ALSO(ssize_t, __read, read, (int fd, void *b, size_t n), (fd, b, n))
ALSO(ssize_t, __write, write, (int fd, const void *b, size_t n), (fd, b, n))
ALSO(ssize_t, __pread64, pread64, (int fd, void *b, size_t n, off_t o), (fd, b, n, o))
ALSO(ssize_t, __pwrite64, pwrite64, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o))
ALSO(ssize_t, __send, send, (int fd, const void *b, size_t n, int f), (fd, b, n, f))
ALSO(int, __connect, connect, (int fd, const struct sockaddr *sa, socklen_t n), (fd, sa, n))
ALSO(int, __poll, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
ALSO(int, __select, select, (int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *tv), (n, r, w, x, tv))
ALSO(int, __close, close, (int fd), (fd))
ALSO(int, __dup2, dup2, (int old, int fd), (old, fd))
ALSO(int, __pipe, pipe, (int fds[2]), (fds))
ALSO(int, __nanosleep, nanosleep, (const struct timespec *t, struct timespec *rem), (t, rem))
ALSO(pid_t, __fork, fork, (void), ())
ALSO(pid_t, __wait, wait, (int *s), (s))
ALSO(pid_t, __waitpid, waitpid, (pid_t p, int *s, int o), (p, s, o))
ALSO(int, __sigaction, sigaction, (int sig, const struct sigaction *new, struct sigaction *old), (sig, new, old))
ALSO(int, __sigsuspend, sigsuspend, (const sigset_t *set), (set))
ALSO(int, __sched_yield, sched_yield, (void), ())
ALSO(int, __sched_getparam, sched_getparam, (pid_t p, struct sched_param *s), (p, s))
ALSO(int, __sched_getscheduler, sched_getscheduler, (pid_t p), (p))
ALSO(int, __sched_setscheduler, sched_setscheduler, (pid_t p, int policy, const struct sched_param *s), (p, policy, s))
ALSO(int, __pthread_mutex_lock, pthread_mutex_lock, (pthread_mutex_t *m), (m))
ALSO(int, __pthread_mutex_trylock, pthread_mutex_trylock, (pthread_mutex_t *m), (m))
ALSO(int, __pthread_mutex_unlock, pthread_mutex_unlock, (pthread_mutex_t *m), (m))
ALSO(int, __pthread_once, pthread_once, (pthread_once_t *o, void (*fn)(void)), (o, fn))
ALSO(int, __pthread_rwlock_rdlock, pthread_rwlock_rdlock, (pthread_rwlock_t *rw), (rw))
ALSO(int, __pthread_rwlock_wrlock, pthread_rwlock_wrlock, (pthread_rwlock_t *rw), (rw))
ALSO(int, __pthread_rwlock_tryrdlock, pthread_rwlock_tryrdlock, (pthread_rwlock_t *rw), (rw))
ALSO(int, __pthread_rwlock_trywrlock, pthread_rwlock_trywrlock, (pthread_rwlock_t *rw), (rw))
ALSO(int, __pthread_rwlock_unlock, pthread_rwlock_unlock, (pthread_rwlock_t *rw), (rw))
ALSO(int, __pthread_setspecific, pthread_setspecific, (pthread_key_t k, const void *v), (k, v))
ALSO(FILE *, freopen64, freopen, (const char *path, const char *mode, FILE *f), (path, mode, f))

/* For binaries from before 2.34; <pthread.h> gives the name to sched_yield. */
HOOK int oldyield(void) __asm__("pthread_yield");

HOOK int
oldyield(void)
{
    return sched_yield();
}

HOOK int __fcntl(int fd, int cmd, ...);

HOOK int
__fcntl(int fd, int cmd, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    return fcntl(fd, cmd, arg);
}

#define OPEN(other, name) \
    HOOK int other(const char *path, int flags, ...); \
    HOOK int \
    other(const char *path, int flags, ...) \
    { \
        va_list ap; \
        unsigned mode; \
\
        va_start(ap, flags); \
        mode = va_arg(ap, unsigned); \
        va_end(ap); \
        return name(path, flags, mode); \
    }

OPEN(__open, open)
OPEN(__open64, open64)

/* ---- checked ---- */

/* The argument is wrong: libc's own says so and ends the program. */
#define CHECKED(ret, other, name, params, args, more, wrong) \
    HOOK ret other params; \
    HOOK ret \
    other params \
    { \
        if (unlikely(wrong)) { \
            ret(*next) params = (ret(*) params)(uintptr_t)real.dlsym(RTLD_NEXT, #other); \
\
            return next args; \
        } \
        return name more; \
    }
#define NEEDSMODE(flags) (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE)

CHECKED(ssize_t, __pread_chk, pread, (int fd, void *b, size_t n, off_t o, size_t size), (fd, b, n, o, size), (fd, b, n, o), n > size)
CHECKED(ssize_t, __pread64_chk, pread64, (int fd, void *b, size_t n, off_t o, size_t size), (fd, b, n, o, size), (fd, b, n, o), n > size)
CHECKED(int, __open_2, open, (const char *path, int f), (path, f), (path, f), NEEDSMODE(f))
CHECKED(int, __open64_2, open64, (const char *path, int f), (path, f), (path, f), NEEDSMODE(f))
CHECKED(int, __openat_2, openat, (int dir, const char *path, int f), (dir, path, f), (dir, path, f), NEEDSMODE(f))
CHECKED(int, __openat64_2, openat64, (int dir, const char *path, int f), (dir, path, f), (dir, path, f), NEEDSMODE(f))

/* ---- lockf: locks of fcntl ---- */

static int
lockfile(int fd, int cmd, short type, off_t n)
{
    struct flock fl = { .l_type = type, .l_whence = SEEK_CUR, .l_len = n };

    if (fcntl(fd, cmd, &fl) < 0)
        return -1;
    if (cmd != F_GETLK || fl.l_type == F_UNLCK || fl.l_pid == getpid())
        return 0;
    errno = EACCES;
    return -1;
}

HOOK int
lockf(int fd, int cmd, off_t n)
{
    switch (cmd) {
    case F_TEST: return lockfile(fd, F_GETLK, F_RDLCK, n);
    case F_ULOCK: return lockfile(fd, F_SETLK, F_UNLCK, n);
    case F_LOCK: return lockfile(fd, F_SETLKW, F_WRLCK, n);
    case F_TLOCK: return lockfile(fd, F_SETLK, F_WRLCK, n);
    }
    errno = EINVAL;
    return -1;
}

HOOK int lockf64(int fd, int cmd, off_t n) __attribute__((alias("lockf")));

/* exec: signals that are pending for the calling thread stay so in the new program. Ours are queued for its G; the
 * kernel must have them. All of libc's forms are here, since inside libc they do not call each other by name.
 */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <stdarg.h>

/* execve and the like return only on failure: then the signals are queued for the G again. */
#define EXEC(call) \
    do { \
        struct g *gp = getg(); \
        struct sigmoved moved = { 0 }; \
        int r; \
\
        if (likely(gp == NULL)) \
            return call; \
        signal_toexec(gp, &moved); \
        r = call; \
        signal_fromexec(gp, &moved); \
        return r; \
    } while (0)

HOOK int
execve(const char *path, char *const argv[], char *const envp[])
{
    EXEC(real.execve(path, argv, envp));
}

HOOK int
execv(const char *path, char *const argv[])
{
    EXEC(real.execv(path, argv));
}

HOOK int
execvp(const char *file, char *const argv[])
{
    EXEC(real.execvp(file, argv));
}

HOOK int
execvpe(const char *file, char *const argv[], char *const envp[])
{
    EXEC(real.execvpe(file, argv, envp));
}

HOOK int
fexecve(int fd, char *const argv[], char *const envp[])
{
    EXEC(real.fexecve(fd, argv, envp));
}

HOOK int
execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    EXEC(real.execveat(dir, path, argv, envp, flags));
}

/* The arguments of execl and its kin as an array on the caller's stack; `n` counts them with the NULL. */
#define COUNT(arg, ap, n) \
    do { \
        va_start(ap, arg); \
        for (n = 1; va_arg(ap, char *) != NULL; n++) \
            ; \
        n++; \
        va_end(ap); \
    } while (0)

static void
collect(char **argv, size_t n, const char *arg, va_list ap)
{
    argv[0] = (char *)(uintptr_t)arg;
    for (size_t i = 1; i < n; i++)
        argv[i] = va_arg(ap, char *);
}

#define EXECL(name, envp, call) \
    HOOK int \
    name(const char *path, const char *arg, ...) \
    { \
        char *const *env = environ; \
        va_list ap; \
        size_t n; \
\
        COUNT(arg, ap, n); \
\
        char *argv[n]; \
\
        va_start(ap, arg); \
        collect(argv, n, arg, ap); \
        if (envp) \
            env = va_arg(ap, char *const *); \
        va_end(ap); \
        (void)env; \
        EXEC(call); \
    }

EXECL(execl, false, real.execv(path, argv))
EXECL(execlp, false, real.execvp(path, argv))
EXECL(execle, true, real.execve(path, argv, env))

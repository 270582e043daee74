/*
 * What the conformance programs share.
 *
 * A program prints what it saw (return codes by name, counts, orders) and the runner compares that
 * with what the same program prints on native threads.  So: print values, not verdicts; print
 * nothing that depends on scheduling, time, addresses or ids; join before the threads' results
 * are printed.  CHECK is for what holds natively by the standard and has no value worth printing.
 *
 * Include it first: it defines _GNU_SOURCE.  Everything is static, usable from C and C++.
 */
#ifndef CONFORM_H
#define CONFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONFORM_UNUSED __attribute__((unused))

static int conform_bad CONFORM_UNUSED;  /* set by CHECK in any thread; read by conform_status */

/* How many kernel threads the process has. */
CONFORM_UNUSED static int
kernelthreads(void)
{
    DIR *d = opendir("/proc/self/task");
    int n = 0;

    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n - 2;               /* . and .. */
}

/* The symbolic name of an error number: "0" for none, "E?" for one that the table lacks. */
CONFORM_UNUSED static const char *
errname(int e)
{
    static const struct { int e; const char *name; } tab[] = {
#define E_(x) { x, #x }
        E_(E2BIG), E_(EACCES), E_(EADDRINUSE), E_(EADDRNOTAVAIL), E_(EAFNOSUPPORT), E_(EAGAIN),
        E_(EALREADY), E_(EBADF), E_(EBADMSG), E_(EBUSY), E_(ECANCELED), E_(ECHILD),
        E_(ECONNABORTED), E_(ECONNREFUSED), E_(ECONNRESET), E_(EDEADLK), E_(EDESTADDRREQ),
        E_(EDOM), E_(EEXIST), E_(EFAULT), E_(EFBIG), E_(EHOSTUNREACH), E_(EIDRM), E_(EILSEQ),
        E_(EINPROGRESS), E_(EINTR), E_(EINVAL), E_(EIO), E_(EISCONN), E_(EISDIR), E_(ELOOP),
        E_(EMFILE), E_(EMLINK), E_(EMSGSIZE), E_(ENAMETOOLONG), E_(ENETUNREACH), E_(ENFILE),
        E_(ENOBUFS), E_(ENODEV), E_(ENOENT), E_(ENOEXEC), E_(ENOLCK), E_(ENOMEM), E_(ENOMSG),
        E_(ENOPROTOOPT), E_(ENOSPC), E_(ENOSYS), E_(ENOTCONN), E_(ENOTDIR), E_(ENOTEMPTY),
        E_(ENOTRECOVERABLE), E_(ENOTSOCK), E_(ENOTSUP), E_(ENOTTY), E_(ENXIO), E_(EOVERFLOW),
        E_(EOWNERDEAD), E_(EPERM), E_(EPIPE), E_(EPROTO), E_(EPROTONOSUPPORT), E_(EPROTOTYPE),
        E_(ERANGE), E_(EROFS), E_(ESPIPE), E_(ESRCH), E_(ESTALE), E_(ETIME), E_(ETIMEDOUT),
        E_(ETXTBSY), E_(EXDEV),
#undef E_
    };
    size_t i;

    if (e == 0)
        return "0";
    for (i = 0; i < sizeof tab / sizeof tab[0]; i++)
        if (tab[i].e == e)
            return tab[i].name;
    return "E?";
}

/* Holds natively.  On failure says where, and the program will end with status 1. */
#define CHECK(expr)                                                                     \
    do {                                                                                \
        if (!(expr)) {                                                                  \
            printf("%s:%d: CHECK failed: %s\n", conform_base(__FILE__), __LINE__, #expr);   \
            __atomic_store_n(&conform_bad, 1, __ATOMIC_RELAXED);                        \
        }                                                                               \
    } while (0)

/* As CHECK, for a pthread call that must return 0: prints the error's name. */
#define OK(call)                                                                        \
    do {                                                                                \
        int ok_rc_ = (call);                                                            \
        if (ok_rc_ != 0) {                                                              \
            printf("%s:%d: %s: %s\n", conform_base(__FILE__), __LINE__, #call, errname(ok_rc_)); \
            __atomic_store_n(&conform_bad, 1, __ATOMIC_RELAXED);                        \
        }                                                                               \
    } while (0)

/* Prints what a pthread call returned: "pthread_mutex_trylock(&m): EBUSY". */
#define RC(call) printf("%s: %s\n", #call, errname(call))

/* Prints what a call in the style of system calls returned: "sem_trywait(&s): -1 EAGAIN". */
#define SYS(call)                                                                       \
    do {                                                                                \
        long sys_r_ = (long)(call);                                                     \
        if (sys_r_ == -1)                                                               \
            printf("%s: -1 %s\n", #call, errname(errno));                               \
        else                                                                            \
            printf("%s: %ld\n", #call, sys_r_);                                         \
    } while (0)

/* The program cannot run here: the reason, then status 77. */
#define SKIP(...)                                                                       \
    do {                                                                                \
        printf(__VA_ARGS__);                                                            \
        putchar('\n');                                                                  \
        exit(77);                                                                       \
    } while (0)

CONFORM_UNUSED static const char *
conform_base(const char *path)
{
    const char *s = strrchr(path, '/');

    return s ? s + 1 : path;
}

/* What main returns. */
CONFORM_UNUSED static int
conform_status(void)
{
    return __atomic_load_n(&conform_bad, __ATOMIC_RELAXED);
}

CONFORM_UNUSED static int64_t
now_ns(clockid_t clk)
{
    struct timespec ts;

    clock_gettime(clk, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The time on clk, ms from now (before now if negative). */
CONFORM_UNUSED static struct timespec
after_ms(clockid_t clk, long ms)
{
    int64_t t = now_ns(clk) + (int64_t)ms * 1000000;
    struct timespec ts;

    ts.tv_sec = (time_t)(t / 1000000000);
    ts.tv_nsec = (long)(t % 1000000000);
    return ts;
}

/* Whether clk has reached ts: the only bound on time that a program may check. */
CONFORM_UNUSED static int
reached(clockid_t clk, const struct timespec *ts)
{
    return now_ns(clk) >= (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

/* Sleeps for at least ms, whatever signals arrive. */
CONFORM_UNUSED static void
msleep(long ms)
{
    struct timespec ts = after_ms(CLOCK_MONOTONIC, ms);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}

/* Lets n threads start their work together: start_init(n), then start_wait() in each. */
static pthread_barrier_t start_barrier CONFORM_UNUSED;

CONFORM_UNUSED static void
start_init(unsigned n)
{
    OK(pthread_barrier_init(&start_barrier, NULL, n));
}

CONFORM_UNUSED static void
start_wait(void)
{
    pthread_barrier_wait(&start_barrier);
}

/* pthread_create that ends the program when it fails: with default attributes, and joined later. */
CONFORM_UNUSED static pthread_t
spawn(void *(*fn)(void *), void *arg)
{
    pthread_t t;
    int e = pthread_create(&t, NULL, fn, arg);

    if (e != 0) {
        printf("pthread_create: %s\n", errname(e));
        exit(1);
    }
    return t;
}

/* pthread_join that must succeed; gives the thread's return value. */
CONFORM_UNUSED static void *
join(pthread_t t)
{
    void *ret = NULL;

    OK(pthread_join(t, &ret));
    return ret;
}

#endif

/*
 * Scanning text and asking the kernel where libc must not be called yet:
 * shared by env.c and cgroup.c, which the tool links without the runtime.
 */
#ifndef GOSSAMER_BASE_SCAN_H
#define GOSSAMER_BASE_SCAN_H

#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>

static inline long
call3(long nr, long a, long b, long c)
{
    long r;

    __asm__ volatile("syscall"
        : "=a"(r)
        : "a"(nr), "D"(a), "S"(b), "d"(c)
        : "rcx", "r11", "memory");
    return r;
}

/* What follows PREFIX in s, or NULL. */
static inline const char *
after(const char *s, const char *prefix)
{
    for (; *prefix != '\0'; s++, prefix++)
        if (*s != *prefix)
            return NULL;
    return s;
}

/* Decimal digits at *s, which moves behind them; -1: none, LONG_MAX: too big. */
static inline long
number(const char **s)
{
    const char *p = *s;
    long n = 0;

    if (*p < '0' || *p > '9')
        return -1;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (n > (LONG_MAX - 9) / 10) {
            n = LONG_MAX;
            continue;
        }
        n = n * 10 + (*p - '0');
    }
    *s = p;
    return n;
}

#endif

/*
 * A thread that overflows its stack hits the guard and the process dies by SIGSEGV.
 * conform: dies SIGSEGV.  Standard error is closed first: what a runtime says there is its own affair.
 * POSIX pthread_attr_setguardsize.
 */
#include "conform.h"
#include <fcntl.h>

static volatile int forever = 1;

static int __attribute__((noinline))
recurse(int depth)
{
    volatile char frame[500];

    frame[0] = (char)depth;
    return forever ? recurse(depth + 1) + frame[0] : 0;
}

static void *
body(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)recurse(0);
}

int
main(void)
{
    dup2(open("/dev/null", O_WRONLY), 2);
    printf("recursing\n");
    fflush(stdout);
    join(spawn(body, NULL));
    printf("never here\n");
    return 9;
}

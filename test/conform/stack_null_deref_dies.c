/*
 * A null pointer dereferenced in a thread kills the process by SIGSEGV.  conform: dies SIGSEGV.
 * Standard error is closed first.  POSIX, "Signal Generation".
 */
#include "conform.h"
#include <fcntl.h>

static int *volatile null;

static void *
body(void *arg)
{
    *null = 1;
    return arg;
}

int
main(void)
{
    dup2(open("/dev/null", O_WRONLY), 2);
    printf("before\n");
    fflush(stdout);
    join(spawn(body, NULL));
    return 9;
}

/*
 * abort() in a thread ends the whole process by SIGABRT.  conform: dies SIGABRT.  POSIX abort.
 */
#include "conform.h"

static void *
body(void *arg)
{
    (void)arg;
    printf("abort\n");
    fflush(stdout);
    abort();
}

int
main(void)
{
    join(spawn(body, NULL));
    return 9;
}

/*
 * The program itself dies of a signal that a thread raises, with its default action; what it had flushed is
 * there. POSIX raise; signal(7).
 * conform: dies SIGTERM
 */
#include "conform.h"
#include <signal.h>

static void *
killer(void *arg)
{
    msleep(5);
    raise(SIGTERM);
    return arg;
}

int
main(void)
{
    printf("before\n");
    fflush(stdout);
    join(spawn(killer, NULL));
    printf("after\n");
    return 0;
}

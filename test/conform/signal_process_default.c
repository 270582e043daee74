/*
 * A signal with default action sent to one thread ends the whole process by that signal.
 * conform: dies SIGUSR1.  POSIX, "Signal Generation and Delivery".
 */
#include "conform.h"
#include <signal.h>

static void *
body(void *arg)
{
    msleep(100000);
    return arg;
}

int
main(void)
{
    pthread_t t = spawn(body, NULL);

    printf("before\n");
    fflush(stdout);
    pthread_kill(t, SIGUSR1);
    join(t);
    return 9;
}

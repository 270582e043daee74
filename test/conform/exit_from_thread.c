/*
 * exit() called by a thread that is not main ends the process with its status, after the atexit
 * handlers (last registered first, on the calling thread) and with stdio flushed, though main
 * waits in pthread_join and others block.  conform: exits 3.  POSIX exit.
 */
#include "conform.h"

static pthread_t caller;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void
first(void)
{
    printf("registered first, on the caller: %d\n", pthread_equal(caller, pthread_self()) != 0);
}

static void
second(void)
{
    printf("registered second\n");
}

static void *
blocked(void *arg)
{
    pthread_mutex_lock(&held);
    return arg;
}

static void *
body(void *arg)
{
    (void)arg;
    caller = pthread_self();
    msleep(20);
    printf("exit in the thread\n");
    exit(3);
}

int
main(void)
{
    int i;

    atexit(first);
    atexit(second);
    pthread_mutex_lock(&held);
    for (i = 0; i < 5; i++)
        spawn(blocked, NULL);
    join(spawn(body, NULL));
    printf("never here\n");
    return 9;
}

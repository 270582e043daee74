/*
 * pthread_exit in main: the others go on, and the process ends with status 0, atexit handlers and
 * flushed output when the last thread ends, whatever that one returns.  POSIX pthread_exit.
 */
#include "conform.h"

static pthread_t main_thread;

static void
bye(void)
{
    printf("atexit handler\n");
}

static void *
last(void *arg)
{
    void *ret = NULL;

    (void)arg;
    RC(pthread_join(main_thread, &ret));
    printf("main's value %ld\n", (long)(intptr_t)ret);
    msleep(20);
    printf("the last thread ends\n");
    return (void *)5;
}

int
main(void)
{
    atexit(bye);
    main_thread = pthread_self();
    spawn(last, NULL);
    printf("main ends\n");
    pthread_exit((void *)321);
}

/*
 * A thread that joins itself gets EDEADLK, as does the main thread, and tryjoin of oneself.
 * POSIX pthread_join (may fail), glibc does.
 */
#include "conform.h"

static void *
body(void *arg)
{
    *(int *)arg = pthread_join(pthread_self(), NULL);
    return NULL;
}

int
main(void)
{
    int e = -1;

    RC(pthread_join(pthread_self(), NULL));
    join(spawn(body, &e));
    printf("in a thread: %s\n", errname(e));
    RC(pthread_join(pthread_self(), NULL));
    return conform_status();
}

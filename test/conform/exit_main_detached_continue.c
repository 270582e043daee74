/*
 * pthread_exit in main with only detached threads left: they go on, create new threads, and the
 * process ends after the last.  POSIX pthread_exit.
 */
#include "conform.h"

static void *
generation(void *arg)
{
    intptr_t n = (intptr_t)arg;

    msleep(5);
    printf("generation %ld\n", (long)n);
    if (n < 5)
        OK(pthread_detach(spawn(generation, (void *)(n + 1))));
    return NULL;
}

int
main(void)
{
    OK(pthread_detach(spawn(generation, (void *)1)));
    pthread_exit(NULL);
}

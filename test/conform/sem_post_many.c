/*
 * Ten posters and twenty waiters on one semaphore: as many waits succeed as posts were made, and the value is
 * zero at the end.  POSIX sem_post.
 */
#include "conform.h"
#include <semaphore.h>

static sem_t s;
static long got;

static void *
posts(void *arg)
{
    int i;

    for (i = 0; i < 2000; i++)
        sem_post(&s);
    return arg;
}

static void *
waits(void *arg)
{
    int i;

    for (i = 0; i < 1000; i++)
        if (sem_wait(&s) == 0)
            __atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
    return arg;
}

int
main(void)
{
    pthread_t t[30];
    int i, v = -1;

    sem_init(&s, 0, 0);
    for (i = 0; i < 30; i++)
        t[i] = spawn(i < 20 ? waits : posts, NULL);
    for (i = 0; i < 30; i++)
        join(t[i]);
    SYS(sem_getvalue(&s, &v));
    printf("got %ld, value %d\n", got, v);
    return conform_status();
}

/*
 * A thread created with PTHREAD_CREATE_DETACHED runs to its end, says so in pthread_getattr_np, and
 * cannot be joined or detached (glibc: EINVAL while it is alive).  POSIX pthread_attr_setdetachstate.
 */
#include "conform.h"
#include <semaphore.h>

static sem_t go, done;
static int state = -1;

static void *
body(void *arg)
{
    pthread_attr_t a;

    while (sem_wait(&go) != 0)
        ;
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getdetachstate(&a, &state));
    OK(pthread_attr_destroy(&a));
    sem_post(&done);
    return arg;
}

int
main(void)
{
    pthread_attr_t a;
    pthread_t t;

    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    OK(pthread_create(&t, &a, body, NULL));
    RC(pthread_join(t, NULL));
    RC(pthread_detach(t));
    sem_post(&go);
    while (sem_wait(&done) != 0)
        ;
    printf("detached in its own eyes: %d\n", state == PTHREAD_CREATE_DETACHED);
    return conform_status();
}

/*
 * pthread_detach: 0 the first time, EINVAL the second; a detached thread cannot be joined, tryjoined
 * or timed-joined (EINVAL).  A thread may detach itself.  POSIX pthread_detach, glibc's error values.
 */
#include "conform.h"
#include <semaphore.h>

static sem_t go, done;

static void *
body(void *arg)
{
    while (sem_wait(&go) != 0)
        ;
    sem_post(&done);
    return arg;
}

static void *
selfdetach(void *arg)
{
    int *e = (int *)arg;

    e[0] = pthread_detach(pthread_self());
    e[1] = pthread_detach(pthread_self());
    sem_post(&done);
    return NULL;
}

int
main(void)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 60000);
    static int e[2];
    pthread_t t;

    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    t = spawn(body, NULL);
    RC(pthread_detach(t));
    RC(pthread_detach(t));
    RC(pthread_join(t, NULL));
    RC(pthread_tryjoin_np(t, NULL));
    RC(pthread_timedjoin_np(t, NULL, &ts));
    sem_post(&go);
    while (sem_wait(&done) != 0)
        ;
    spawn(selfdetach, e);
    while (sem_wait(&done) != 0)
        ;
    printf("itself: %s, again: %s\n", errname(e[0]), errname(e[1]));
    return conform_status();
}

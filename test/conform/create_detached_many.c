/*
 * Two thousand detached threads, never joined: all of them run, and their memory is reused, so
 * that the address space does not grow with their number.  POSIX pthread_detach.
 */
#include "conform.h"
#include <semaphore.h>

static sem_t slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t end = PTHREAD_COND_INITIALIZER;
static long ended, sum;

static void *
body(void *arg)
{
    pthread_mutex_lock(&lock);
    sum += (intptr_t)arg;
    if (++ended == 2000)
        pthread_cond_signal(&end);
    pthread_mutex_unlock(&lock);
    sem_post(&slots);
    return NULL;
}

int
main(void)
{
    pthread_attr_t a;
    pthread_t t;
    intptr_t i;

    sem_init(&slots, 0, 50);
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    for (i = 0; i < 2000; i++) {
        while (sem_wait(&slots) != 0)
            ;
        if (i & 1) {
            OK(pthread_create(&t, &a, body, (void *)i));
        } else {
            OK(pthread_create(&t, NULL, body, (void *)i));
            OK(pthread_detach(t));
        }
    }
    pthread_mutex_lock(&lock);
    while (ended < 2000)
        pthread_cond_wait(&end, &lock);
    pthread_mutex_unlock(&lock);
    printf("ended %ld, sum %ld\n", ended, sum);
    return conform_status();
}

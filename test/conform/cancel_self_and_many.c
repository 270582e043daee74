/*
 * A thread cancels itself; and a hundred threads blocked on one condition variable, a mutex between them, are
 * all canceled while others signal it.  POSIX pthread_cancel.
 */
#include "conform.h"

#define N 100

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int handled;

static void *
self(void *arg)
{
    OK(pthread_cancel(pthread_self()));
    pthread_testcancel();
    return arg;
}

static void
unlocks(void *arg)
{
    (void)arg;
    handled++;          /* the mutex is held */
    pthread_mutex_unlock(&m);
}

static void *
waits(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlocks, NULL);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    return arg;
}

int
main(void)
{
    pthread_t t[N];
    int i, canceled = 0;

    printf("self: canceled %d\n", join(spawn(self, NULL)) == PTHREAD_CANCELED);
    for (i = 0; i < N; i++)
        t[i] = spawn(waits, NULL);
    msleep(5);
    for (i = 0; i < N; i++) {
        OK(pthread_cancel(t[i]));
        if (i % 10 == 0)
            pthread_cond_broadcast(&c);
        if (i % 3 == 0)
            pthread_cond_signal(&c);
    }
    for (i = 0; i < N; i++)
        canceled += join(t[i]) == PTHREAD_CANCELED;
    printf("canceled %d, handled %d\n", canceled, handled);
    RC(pthread_mutex_trylock(&m));
    return conform_status();
}

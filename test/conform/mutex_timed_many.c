/*
 * A hundred threads wait with different deadlines for a mutex that is never released: all time out,
 * none early, and the mutex is sound afterwards.  POSIX pthread_mutex_timedlock.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *
body(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 1 + (intptr_t)arg % 20);
    int e = pthread_mutex_timedlock(&m, &ts);

    CHECK(reached(CLOCK_REALTIME, &ts));
    return (void *)(intptr_t)e;
}

int
main(void)
{
    pthread_t t[100];
    intptr_t i;
    int timeouts = 0;

    OK(pthread_mutex_lock(&m));
    for (i = 0; i < 100; i++)
        t[i] = spawn(body, (void *)i);
    for (i = 0; i < 100; i++)
        timeouts += (intptr_t)join(t[i]) == ETIMEDOUT;
    printf("timed out %d\n", timeouts);
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_trylock(&m));
    RC(pthread_mutex_unlock(&m));
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

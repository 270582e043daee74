/*
 * An adaptive mutex excludes, reports EBUSY, and counts right under contention.
 * glibc PTHREAD_MUTEX_ADAPTIVE_NP.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static long count;

static void *
body(void *arg)
{
    int i;

    start_wait();
    for (i = 0; i < 10000; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int
main(void)
{
    pthread_t t[8];
    int i;

    RC(pthread_mutex_lock(&m));
    RC(pthread_mutex_trylock(&m));
    RC(pthread_mutex_unlock(&m));
    start_init(8);
    for (i = 0; i < 8; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 8; i++)
        join(t[i]);
    printf("count %ld\n", count);
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

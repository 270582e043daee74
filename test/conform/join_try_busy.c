/*
 * pthread_tryjoin_np: EBUSY while the thread runs, 0 and its value once it has ended.  glibc manual,
 * "Waiting with Explicit Clocks" / "Default Thread Attributes" (non-POSIX extensions).
 */
#include "conform.h"

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static void *
body(void *arg)
{
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    return arg;
}

int
main(void)
{
    pthread_t t;
    void *ret = NULL;
    int e;

    pthread_mutex_lock(&hold);
    t = spawn(body, (void *)99);
    RC(pthread_tryjoin_np(t, &ret));
    RC(pthread_tryjoin_np(t, &ret));
    printf("value untouched: %ld\n", (long)(intptr_t)ret);
    pthread_mutex_unlock(&hold);
    while ((e = pthread_tryjoin_np(t, &ret)) == EBUSY)
        sched_yield();
    printf("then %s, value %ld\n", errname(e), (long)(intptr_t)ret);
    return conform_status();
}

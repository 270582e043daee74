/*
 * Asynchronous cancellation stops a thread that only computes; handlers run.  POSIX pthread_setcanceltype.
 */
#include "conform.h"

static volatile unsigned long spins;
static int handled;

static void
handler(void *arg)
{
    (void)arg;
    handled++;
}

static void *
body(void *arg)
{
    int old = -1;

    CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0);
    CHECK(old == PTHREAD_CANCEL_DEFERRED);
    pthread_cleanup_push(handler, NULL);
    for (;;)
        spins++;
    pthread_cleanup_pop(0);
    return arg;
}

int
main(void)
{
    pthread_t t;
    int i, canceled = 0;

    for (i = 0; i < 10; i++) {
        spins = 0;
        t = spawn(body, NULL);
        while (spins == 0)      /* until it computes: nothing in libc may be cut short */
            sched_yield();
        msleep(i % 3);
        OK(pthread_cancel(t));
        canceled += join(t) == PTHREAD_CANCELED;
    }
    printf("canceled %d, handled %d\n", canceled, handled);
    return conform_status();
}

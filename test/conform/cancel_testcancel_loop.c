/*
 * Deferred cancellation acts at pthread_testcancel, and not before: the work between two of them is always
 * whole.  The value is PTHREAD_CANCELED.  POSIX pthread_cancel.
 */
#include "conform.h"

static volatile long begun, ended;

static void *
body(void *arg)
{
    for (;;) {
        begun++;
        ended++;
        pthread_testcancel();
        if (begun == 1)
            start_wait();
    }
    return arg;
}

int
main(void)
{
    pthread_t t;
    int i, canceled = 0;

    start_init(2);
    for (i = 0; i < 50; i++) {
        begun = ended = 0;
        t = spawn(body, NULL);
        start_wait();
        OK(pthread_cancel(t));
        canceled += join(t) == PTHREAD_CANCELED;
        CHECK(begun == ended);
    }
    printf("canceled %d\n", canceled);
    return conform_status();
}

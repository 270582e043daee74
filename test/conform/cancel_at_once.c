/*
 * A thread that is cancelled right after it was created, before or while it first runs, ends at its first
 * cancellation point.  POSIX pthread_cancel.
 */
#include "conform.h"

static void *
body(void *arg)
{
    for (;;)
        sleep(100);
    return arg;
}

int
main(void)
{
    int i, canceled = 0;

    for (i = 0; i < 200; i++) {
        pthread_t t = spawn(body, NULL);

        if (i % 4 == 3)
            usleep(i);
        OK(pthread_cancel(t));
        canceled += join(t) == PTHREAD_CANCELED;
    }
    printf("canceled %d\n", canceled);
    return conform_status();
}

/*
 * Cancellation runs the cleanup handlers last first, then the destructors of thread-specific data; a
 * handler may block and use cancellation points.  POSIX pthread_cancel.
 */
#include "conform.h"

static pthread_key_t key;

static void
note(void *arg)
{
    msleep(2);
    printf("%s\n", (char *)arg);
}

static void __attribute__((noinline))
inner(void)
{
    pthread_cleanup_push(note, "handler 3");
    start_wait();
    for (;;)
        pause();
    pthread_cleanup_pop(0);
}

static void *
body(void *arg)
{
    pthread_setspecific(key, "destructor");
    pthread_cleanup_push(note, "handler 1");
    pthread_cleanup_push(note, "handler 2");
    inner();
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

int
main(void)
{
    pthread_t t;

    OK(pthread_key_create(&key, note));
    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    msleep(5);
    OK(pthread_cancel(t));
    printf("canceled %d\n", join(t) == PTHREAD_CANCELED);
    return conform_status();
}

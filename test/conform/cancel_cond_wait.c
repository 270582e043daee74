/*
 * A thread canceled in pthread_cond_wait or timedwait holds the mutex again when its cleanup handlers run, and
 * does not swallow a signal meant for others.  POSIX pthread_cond_wait.
 */
#include "conform.h"

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, token;

static void
unlocks(void *arg)
{
    printf("%s: unlock in the handler: %s\n", (char *)arg, errname(pthread_mutex_unlock(&m)));
}

static void *
plain(void *arg)
{
    OK(pthread_mutex_lock(&m));
    waiting = 1;
    pthread_cleanup_push(unlocks, "wait");
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(0);
    return arg;
}

static void *
timed(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 100000);

    OK(pthread_mutex_lock(&m));
    waiting = 1;
    pthread_cleanup_push(unlocks, "timedwait");
    for (;;)
        pthread_cond_timedwait(&c, &m, &ts);
    pthread_cleanup_pop(0);
    return arg;
}

static void *
takes(void *arg)
{
    OK(pthread_mutex_lock(&m));
    while (token == 0)
        pthread_cond_wait(&c, &m);
    token--;
    OK(pthread_mutex_unlock(&m));
    return arg;
}

static void
cancel_waiter(void *(*fn)(void *))
{
    pthread_t t;
    int w;

    waiting = 0;
    t = spawn(fn, NULL);
    do {
        sched_yield();
        OK(pthread_mutex_lock(&m));     /* free only when it waits */
        w = waiting;
        OK(pthread_mutex_unlock(&m));
    } while (!w);
    OK(pthread_cancel(t));
    printf("canceled %d\n", join(t) == PTHREAD_CANCELED);
}

int
main(void)
{
    pthread_t t;

    cancel_waiter(plain);
    cancel_waiter(timed);
    t = spawn(takes, (void *)3);
    cancel_waiter(plain);
    OK(pthread_mutex_lock(&m));
    token = 1;
    pthread_cond_signal(&c);
    OK(pthread_mutex_unlock(&m));
    printf("the other waiter %ld\n", (long)(intptr_t)join(t));
    return conform_status();
}

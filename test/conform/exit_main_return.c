/*
 * Returning from main ends the process with that status although threads still sleep, wait, and
 * spin.  conform: exits 5.  POSIX exit, ISO C 5.1.2.2.3.
 */
#include "conform.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile unsigned long spins;

static void *
spinner(void *arg)
{
    start_wait();
    for (;;)
        spins++;
    return arg;
}

static void *
sleeper(void *arg)
{
    start_wait();
    msleep(1000000);
    return arg;
}

static void *
waiter(void *arg)
{
    start_wait();
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return arg;
}

static void
bye(void)
{
    printf("atexit handler\n");
}

int
main(void)
{
    atexit(bye);
    start_init(4);
    spawn(spinner, NULL);
    spawn(sleeper, NULL);
    spawn(waiter, NULL);
    start_wait();
    printf("main returns\n");
    return 5;
}

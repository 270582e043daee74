/*
 * Cleanup handlers and key destructors that run at pthread_exit may block, create and join threads.
 * POSIX pthread_exit.
 */
#include "conform.h"

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *
child(void *arg)
{
    msleep(1);
    return arg;
}

static void
work(void *arg)
{
    intptr_t v;

    msleep(2);
    v = (intptr_t)join(spawn(child, arg));
    pthread_mutex_lock(&lock);
    sum += v;
    pthread_mutex_unlock(&lock);
}

static void *
body(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_cleanup_push(work, arg);
    pthread_exit(arg);
    pthread_cleanup_pop(0);
}

int
main(void)
{
    pthread_t t[20];
    long values = 0;
    intptr_t i;

    OK(pthread_key_create(&key, work));
    for (i = 0; i < 20; i++)
        t[i] = spawn(body, (void *)(i + 1));
    for (i = 0; i < 20; i++)
        values += (long)(intptr_t)join(t[i]);
    printf("values %ld, sum of handlers and destructors %ld\n", values, sum);
    return conform_status();
}

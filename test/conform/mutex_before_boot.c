/*
 * Mutexes of every type locked before the first pthread_create are still locked, by main, after it: a
 * thread gets EBUSY and EPERM, main EDEADLK and its recursion count, and its unlock wakes the waiter.
 * POSIX pthread_mutex_lock.
 */
#include "conform.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t rec = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;

static void *
elsewhere(void *arg)
{
    RC(pthread_mutex_trylock(&normal));
    RC(pthread_mutex_trylock(&rec));
    RC(pthread_mutex_unlock(&rec));
    RC(pthread_mutex_trylock(&check));
    RC(pthread_mutex_unlock(&check));
    RC(pthread_mutex_trylock(&adaptive));
    RC(pthread_mutex_trylock(&robust));
    RC(pthread_mutex_unlock(&robust));
    return arg;
}

static void *
takes(void *arg)
{
    pthread_mutex_t *m = (pthread_mutex_t *)arg;
    int e = pthread_mutex_lock(m);

    pthread_mutex_unlock(m);
    return (void *)(intptr_t)e;
}

static void
release(const char *name, pthread_mutex_t *m, int times)
{
    pthread_t t = spawn(takes, m);
    int i, e = 0;

    msleep(2);
    for (i = 0; i < times; i++)
        e |= pthread_mutex_unlock(m);
    printf("%s: unlock %s", name, errname(e));
    printf(", waiter %s\n", errname((int)(intptr_t)join(t)));
}

int
main(void)
{
    pthread_mutexattr_t a;

    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&robust, &a));
    RC(pthread_mutex_lock(&normal));
    RC(pthread_mutex_lock(&rec));
    RC(pthread_mutex_lock(&rec));
    RC(pthread_mutex_lock(&check));
    RC(pthread_mutex_lock(&adaptive));
    RC(pthread_mutex_lock(&robust));
    join(spawn(elsewhere, NULL));
    RC(pthread_mutex_lock(&rec));
    RC(pthread_mutex_lock(&check));
    release("normal", &normal, 1);
    release("recursive", &rec, 3);
    release("errorcheck", &check, 1);
    release("adaptive", &adaptive, 1);
    release("robust", &robust, 1);
    RC(pthread_mutex_unlock(&rec));
    RC(pthread_mutex_unlock(&check));
    return conform_status();
}

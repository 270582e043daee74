/*
 * Condition variables with recursive (held once), error-checking, adaptive, robust and
 * priority-inheriting mutexes; EPERM for an error-checking mutex that is not held.
 * POSIX pthread_cond_wait.
 */
#include "conform.h"

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn;

static void *
body(void *arg)
{
    int i, e = 0;

    for (i = 0; i < 50; i++) {
        e |= pthread_mutex_lock(&m);
        while (turn == 0)
            e |= pthread_cond_wait(&c, &m);
        turn = 0;
        e |= pthread_cond_signal(&c);
        e |= pthread_mutex_unlock(&m);
    }
    (void)arg;
    return (void *)(intptr_t)e;
}

static void
play(const char *name, int type, int robust, int protocol)
{
    pthread_mutexattr_t a;
    pthread_t t;
    int i, e = 0;

    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_settype(&a, type));
    OK(pthread_mutexattr_setrobust(&a, robust));
    OK(pthread_mutexattr_setprotocol(&a, protocol));
    OK(pthread_mutex_init(&m, &a));
    t = spawn(body, NULL);
    for (i = 0; i < 50; i++) {
        e |= pthread_mutex_lock(&m);
        while (turn == 1)
            e |= pthread_cond_wait(&c, &m);
        turn = 1;
        e |= pthread_cond_signal(&c);
        e |= pthread_mutex_unlock(&m);
    }
    e |= (int)(intptr_t)join(t);
    printf("%s: %s\n", name, errname(e));
    turn = 0;
    OK(pthread_mutex_destroy(&m));
}

int
main(void)
{
    pthread_mutex_t check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

    play("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    play("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    play("errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    play("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    play("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    play("inheriting", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    RC(pthread_cond_wait(&c, &check));
    return conform_status();
}

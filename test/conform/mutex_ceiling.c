/*
 * Priority-ceiling mutexes: the ceiling reads back, is changed by setprioceiling; lock works for whom
 * may raise its priority and is refused otherwise, alike in main and in a thread.
 * POSIX PTHREAD_PRIO_PROTECT.
 */
#include "conform.h"
#include <sched.h>

static pthread_mutex_t m;

static void *
body(void *arg)
{
    struct sched_param sp;
    int e = pthread_mutex_lock(&m), policy = -1;

    printf("lock: %s\n", errname(e));
    if (e == 0) {
        RC(pthread_mutex_trylock(&m));
        RC(pthread_mutex_unlock(&m));
    }
    OK(pthread_getschedparam(pthread_self(), &policy, &sp));
    printf("afterwards SCHED_OTHER %d, priority %d\n", policy == SCHED_OTHER, sp.sched_priority);
    return arg;
}

int
main(void)
{
    int lo = sched_get_priority_min(SCHED_FIFO), v = -1;
    pthread_mutexattr_t a;

    OK(pthread_mutexattr_init(&a));
    RC(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    RC(pthread_mutexattr_setprioceiling(&a, lo + 3));
    RC(pthread_mutexattr_getprioceiling(&a, &v));
    printf("ceiling %d\n", v - lo);
    RC(pthread_mutex_init(&m, &a));
    RC(pthread_mutex_getprioceiling(&m, &v));
    printf("ceiling %d\n", v - lo);
    body(NULL);
    join(spawn(body, NULL));
    body(NULL);
    RC(pthread_mutex_destroy(&m));
    return conform_status();
}

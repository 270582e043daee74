/*
 * The scheduling parameters of an ordinary thread: SCHED_OTHER, priority 0, the same seen from
 * itself and from outside; setting what it already has succeeds.  POSIX pthread_getschedparam.
 */
#include "conform.h"
#include <sched.h>

static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;

static void
show(const char *who, pthread_t t)
{
    struct sched_param sp;
    int policy = -1, e;

    sp.sched_priority = -1;
    e = pthread_getschedparam(t, &policy, &sp);
    printf("%s: %s, SCHED_OTHER %d, priority %d\n", who, errname(e), policy == SCHED_OTHER, sp.sched_priority);
}

static void *
body(void *arg)
{
    show("a thread, itself", pthread_self());
    start_wait();
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    return arg;
}

int
main(void)
{
    struct sched_param sp;
    pthread_t t;

    show("main, before", pthread_self());
    start_init(2);
    pthread_mutex_lock(&hold);
    t = spawn(body, NULL);
    start_wait();
    show("a thread, from main", t);
    sp.sched_priority = 0;
    RC(pthread_setschedparam(t, SCHED_OTHER, &sp));
    sp.sched_priority = 5;
    RC(pthread_setschedparam(t, SCHED_OTHER, &sp));
    RC(pthread_setschedprio(t, 0));
    pthread_mutex_unlock(&hold);
    join(t);
    show("main, after", pthread_self());
    return conform_status();
}

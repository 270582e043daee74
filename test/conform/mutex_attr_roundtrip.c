/*
 * Mutex attributes: defaults, read back what was set, EINVAL for what does not exist.
 * POSIX pthread_mutexattr_*.
 */
#include "conform.h"

int
main(void)
{
    pthread_mutexattr_t a;
    int v;

    RC(pthread_mutexattr_init(&a));
    RC(pthread_mutexattr_gettype(&a, &v));
    printf("default type %d\n", v == PTHREAD_MUTEX_DEFAULT);
    RC(pthread_mutexattr_getpshared(&a, &v));
    printf("private %d\n", v == PTHREAD_PROCESS_PRIVATE);
    RC(pthread_mutexattr_getrobust(&a, &v));
    printf("stalled %d\n", v == PTHREAD_MUTEX_STALLED);
    RC(pthread_mutexattr_getprotocol(&a, &v));
    printf("no protocol %d\n", v == PTHREAD_PRIO_NONE);
    RC(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
    RC(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    RC(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    RC(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
    RC(pthread_mutexattr_gettype(&a, &v));
    printf("recursive %d\n", v == PTHREAD_MUTEX_RECURSIVE);
    RC(pthread_mutexattr_getpshared(&a, &v));
    printf("shared %d\n", v == PTHREAD_PROCESS_SHARED);
    RC(pthread_mutexattr_getrobust(&a, &v));
    printf("robust %d\n", v == PTHREAD_MUTEX_ROBUST);
    RC(pthread_mutexattr_getprotocol(&a, &v));
    printf("inherit %d\n", v == PTHREAD_PRIO_INHERIT);
    RC(pthread_mutexattr_settype(&a, 99));
    RC(pthread_mutexattr_setpshared(&a, 99));
    RC(pthread_mutexattr_setrobust(&a, 99));
    RC(pthread_mutexattr_setprotocol(&a, 99));
    RC(pthread_mutexattr_setprioceiling(&a, 1000));
    RC(pthread_mutexattr_destroy(&a));
    return conform_status();
}

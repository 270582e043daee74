/*
 * What the attribute functions refuse: EINVAL for unknown states, policies and scopes, for a stack
 * below PTHREAD_STACK_MIN; ENOTSUP for process scope.  POSIX pthread_attr_*, glibc's error values.
 */
#include "conform.h"
#include <limits.h>
#include <sched.h>

int
main(void)
{
    pthread_attr_t a;

    OK(pthread_attr_init(&a));
    RC(pthread_attr_setdetachstate(&a, 17));
    RC(pthread_attr_setscope(&a, PTHREAD_SCOPE_PROCESS));
    RC(pthread_attr_setscope(&a, 17));
    RC(pthread_attr_setinheritsched(&a, 17));
    RC(pthread_attr_setschedpolicy(&a, 1717));
    RC(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN - 1));
    RC(pthread_attr_setstacksize(&a, 0));
    RC(pthread_attr_setstack(&a, NULL, 1000));
    RC(pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
    OK(pthread_attr_destroy(&a));
    return conform_status();
}

/*
 * Every attribute of pthread_attr_t: its default, and that what is set can be read back.
 * POSIX pthread_attr_*, glibc's defaults.
 */
#include "conform.h"
#include <sched.h>

int
main(void)
{
    struct sched_param sp;
    pthread_attr_t a;
    size_t n;
    void *p;
    int v;

    RC(pthread_attr_init(&a));
    RC(pthread_attr_getdetachstate(&a, &v));
    printf("joinable %d\n", v == PTHREAD_CREATE_JOINABLE);
    RC(pthread_attr_getscope(&a, &v));
    printf("system scope %d\n", v == PTHREAD_SCOPE_SYSTEM);
    RC(pthread_attr_getinheritsched(&a, &v));
    printf("inherit %d\n", v == PTHREAD_INHERIT_SCHED);
    RC(pthread_attr_getschedpolicy(&a, &v));
    printf("SCHED_OTHER %d\n", v == SCHED_OTHER);
    RC(pthread_attr_getschedparam(&a, &sp));
    printf("priority %d\n", sp.sched_priority);
    RC(pthread_attr_getguardsize(&a, &n));
    printf("guard in pages %ld\n", (long)n / sysconf(_SC_PAGESIZE));

    RC(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    RC(pthread_attr_getdetachstate(&a, &v));
    printf("detached %d\n", v == PTHREAD_CREATE_DETACHED);
    RC(pthread_attr_setguardsize(&a, 65536));
    RC(pthread_attr_getguardsize(&a, &n));
    printf("guard %zu\n", n);
    RC(pthread_attr_setstacksize(&a, 1 << 20));
    RC(pthread_attr_getstacksize(&a, &n));
    printf("stack size %zu\n", n);
    RC(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    RC(pthread_attr_getinheritsched(&a, &v));
    printf("explicit %d\n", v == PTHREAD_EXPLICIT_SCHED);
    RC(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    RC(pthread_attr_getschedpolicy(&a, &v));
    printf("SCHED_FIFO %d\n", v == SCHED_FIFO);
    sp.sched_priority = 7;
    RC(pthread_attr_setschedparam(&a, &sp));
    sp.sched_priority = 0;
    RC(pthread_attr_getschedparam(&a, &sp));
    printf("priority %d\n", sp.sched_priority);
    RC(pthread_attr_setstack(&a, (void *)0x100000000, 1 << 21));
    RC(pthread_attr_getstack(&a, &p, &n));
    printf("stack %p %zu\n", p, n);
    RC(pthread_attr_destroy(&a));
    return conform_status();
}

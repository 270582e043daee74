/*
 * pthread_setattr_default_np: threads created with NULL attributes get the new default stack size.
 * glibc manual, "Default Thread Attributes".
 */
#include "conform.h"

static void *
body(void *arg)
{
    volatile char touch[3 << 20];
    size_t i;

    for (i = 0; i < sizeof touch; i += 4096)
        touch[i] = 1;
    return touch[4096] ? arg : NULL;
}

int
main(void)
{
    pthread_attr_t a;
    size_t size = 0;

    OK(pthread_attr_init(&a));
    OK(pthread_attr_setstacksize(&a, 5 << 20));
    RC(pthread_setattr_default_np(&a));
    OK(pthread_attr_destroy(&a));
    RC(pthread_getattr_default_np(&a));
    OK(pthread_attr_getstacksize(&a, &size));
    printf("default size %zu\n", size);
    OK(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    RC(pthread_attr_setstacksize(&a, 1000));
    printf("value %ld\n", (long)(intptr_t)join(spawn(body, (void *)6)));
    return conform_status();
}

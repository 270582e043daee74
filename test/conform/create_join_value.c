/*
 * pthread_join gives back what the start routine returned, for small integers, pointers and NULL;
 * a NULL second argument is allowed.  POSIX pthread_create, pthread_join.
 */
#include "conform.h"

static int object = 42;

static void *
same(void *arg)
{
    return arg;
}

static void *
plus1(void *arg)
{
    return (void *)((intptr_t)arg + 1);
}

int
main(void)
{
    pthread_t t;
    void *ret;
    int i;

    for (i = -1; i < 3; i++) {
        OK(pthread_create(&t, NULL, plus1, (void *)(intptr_t)i));
        OK(pthread_join(t, &ret));
        printf("%d + 1 = %ld\n", i, (long)(intptr_t)ret);
    }
    ret = join(spawn(same, &object));
    printf("pointer: %s, object %d\n", ret == &object ? "same" : "different", *(int *)ret);
    ret = &object;
    OK(pthread_create(&t, NULL, same, NULL));
    OK(pthread_join(t, &ret));
    printf("NULL: %s\n", ret == NULL ? "NULL" : "not NULL");
    OK(pthread_create(&t, NULL, same, &object));
    RC(pthread_join(t, NULL));
    return conform_status();
}

/*
 * pthread_attr_setstack: the thread runs on exactly that memory, pthread_getattr_np says so, and the
 * memory can be used again or unmapped after the join.  POSIX pthread_attr_setstack.
 */
#include "conform.h"
#include <sys/mman.h>

#define SIZE (256 * 1024)

static char *stack;

static void *
body(void *arg)
{
    pthread_attr_t a;
    char local[1000];
    size_t size;
    void *base;

    memset(local, 1, sizeof local);
    OK(pthread_getattr_np(pthread_self(), &a));
    OK(pthread_attr_getstack(&a, &base, &size));
    OK(pthread_attr_destroy(&a));
    msleep(1);
    printf("local inside %d, same base %d, same size %d\n",
           local >= stack && local + sizeof local <= stack + SIZE, base == stack, size == SIZE);
    return arg;
}

int
main(void)
{
    pthread_attr_t a;
    pthread_t t;
    int i;

    stack = (char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    OK(pthread_attr_init(&a));
    RC(pthread_attr_setstack(&a, stack, SIZE));
    for (i = 0; i < 3; i++) {
        OK(pthread_create(&t, &a, body, (void *)(intptr_t)i));
        printf("value %ld\n", (long)(intptr_t)join(t));
        memset(stack, 0xff, SIZE);
    }
    SYS(munmap(stack, SIZE));
    return conform_status();
}

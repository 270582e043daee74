/*
 * Cleanup handlers: pop(1) runs one, pop(0) does not; pthread_exit runs those still pushed, last
 * first, before the destructors of thread-specific data; returning from a function that has popped
 * runs none.  POSIX pthread_cleanup_push.
 */
#include "conform.h"

static pthread_key_t key;

static void
note(void *arg)
{
    printf("  %s\n", (const char *)arg);
}

static char a[] = "handler a", b[] = "handler b", c[] = "handler c", d[] = "destructor of the key";

static void __attribute__((noinline))
inner(void)
{
    pthread_cleanup_push(note, c);
    pthread_exit((void *)1);
    pthread_cleanup_pop(0);
}

static void *
exits(void *arg)
{
    printf("exit in an inner function:\n");
    pthread_setspecific(key, d);
    pthread_cleanup_push(note, a);
    pthread_cleanup_push(note, b);
    inner();
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

static void *
pops(void *arg)
{
    printf("pop(0) of b, pop(1) of a, return:\n");
    pthread_cleanup_push(note, a);
    pthread_cleanup_push(note, b);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    return arg;
}

int
main(void)
{
    OK(pthread_key_create(&key, note));
    printf("value %ld\n", (long)(intptr_t)join(spawn(exits, NULL)));
    printf("value %ld\n", (long)(intptr_t)join(spawn(pops, (void *)2)));
    return conform_status();
}

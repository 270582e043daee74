/*
 * Destructors of thread-specific data: called with the value and NULL in its place, in the order of keys within
 * a round (glibc), in rounds while values are set anew, at most PTHREAD_DESTRUCTOR_ITERATIONS; not for NULL
 * values, nor for deleted keys.  POSIX pthread_key_create.
 */
#include "conform.h"
#include <limits.h>

static pthread_key_t a, b, again, stubborn, deleted, null;
static int stubborn_calls;

static void
plain(void *v)
{
    printf("  %s\n", (char *)v);
}

static void
sets_again(void *v)
{
    intptr_t n = (intptr_t)v;

    printf("  again: %ld, value inside %s\n", (long)n, pthread_getspecific(again) == NULL ? "NULL" : "set");
    if (n > 1)
        pthread_setspecific(again, (void *)(n - 1));
    else
        pthread_setspecific(a, "a, set by a destructor");
}

static void
never_ends(void *v)
{
    stubborn_calls++;
    pthread_setspecific(stubborn, v);
}

static void *
body(void *arg)
{
    pthread_setspecific(again, (void *)2);
    pthread_setspecific(b, "b");
    pthread_setspecific(a, "a");
    pthread_setspecific(stubborn, arg);
    pthread_setspecific(deleted, "deleted: wrong");
    pthread_setspecific(null, "null: wrong");
    pthread_setspecific(null, NULL);
    pthread_key_delete(deleted);
    if (arg != NULL)
        pthread_exit(arg);
    return arg;
}

int
main(void)
{
    static int object;

    OK(pthread_key_create(&a, plain));
    OK(pthread_key_create(&b, plain));
    OK(pthread_key_create(&again, sets_again));
    OK(pthread_key_create(&stubborn, never_ends));
    OK(pthread_key_create(&deleted, plain));
    OK(pthread_key_create(&null, plain));
    printf("return:\n");
    join(spawn(body, NULL));
    printf("stubborn %d\npthread_exit:\n", stubborn_calls);
    join(spawn(body, &object));
    printf("stubborn %d, the limit %d\n", stubborn_calls, PTHREAD_DESTRUCTOR_ITERATIONS);
    return conform_status();
}

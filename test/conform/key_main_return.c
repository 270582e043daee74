/*
 * Destructors of thread-specific data do not run when main returns or a thread calls exit.
 * conform: exits 6.  POSIX pthread_key_create.
 */
#include "conform.h"

static pthread_key_t key;

static void
destructor(void *v)
{
    printf("wrong: destructor of %s\n", (char *)v);
}

static void *
body(void *arg)
{
    pthread_setspecific(key, "the thread's");
    printf("exit\n");
    exit(6);
    return arg;
}

int
main(void)
{
    OK(pthread_key_create(&key, destructor));
    OK(pthread_setspecific(key, "main's"));
    join(spawn(body, NULL));
    return 9;
}

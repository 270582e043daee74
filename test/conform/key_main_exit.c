/*
 * Destructors of main's thread-specific data run when main calls pthread_exit (and on main's thread), before
 * the atexit handlers.  POSIX pthread_exit.
 */
#include "conform.h"

static pthread_key_t key;
static pthread_t main_thread;

static void
destructor(void *v)
{
    printf("destructor: %s, on main %d\n", (char *)v, pthread_equal(main_thread, pthread_self()) != 0);
}

static void
bye(void)
{
    printf("atexit handler\n");
}

static void *
body(void *arg)
{
    join(main_thread);
    printf("main joined\n");
    return arg;
}

int
main(void)
{
    main_thread = pthread_self();
    atexit(bye);
    OK(pthread_key_create(&key, destructor));
    OK(pthread_setspecific(key, "main's value"));
    spawn(body, NULL);
    pthread_exit(NULL);
}

/*
 * pthread_getattr_np of the main thread: its locals, argv and the frames far below lie inside the
 * stack that it reports; before and after the first pthread_create, and seen from another thread.
 * Garbage collectors rely on it.  glibc manual.
 */
#include "conform.h"

static pthread_t main_thread;
static char *local_of_main;

static int
inside(pthread_t t, void *p)
{
    pthread_attr_t a;
    size_t size;
    void *base;

    OK(pthread_getattr_np(t, &a));
    OK(pthread_attr_getstack(&a, &base, &size));
    OK(pthread_attr_destroy(&a));
    return (char *)p >= (char *)base && (char *)p < (char *)base + size && size >= 65536;
}

static void *
body(void *arg)
{
    char mine;

    (void)arg;
    printf("from a thread: main's local in main's %d, in mine %d; mine in main's %d\n",
           inside(main_thread, local_of_main), inside(pthread_self(), local_of_main), inside(main_thread, &mine));
    return NULL;
}

int
main(int argc, char **argv)
{
    char local;

    (void)argc;
    main_thread = pthread_self();
    local_of_main = &local;
    printf("before: local %d, argv %d\n", inside(pthread_self(), &local), inside(pthread_self(), argv));
    join(spawn(body, NULL));
    printf("after: local %d, argv %d\n", inside(pthread_self(), &local), inside(pthread_self(), argv));
    return conform_status();
}

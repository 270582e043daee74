/*
 * syscall(SYS_exit) ends the thread alone, without cleanup handlers and destructors: it can be joined, others go on, also after
 * main has done it; the process ends with the last.  exit(2).
 */
#include "conform.h"
#include <sys/syscall.h>

static pthread_key_t key;

static void
destructor(void *p)
{
    (void)p;
    printf("destructor ran\n");
}

static void
cleanup(void *p)
{
    (void)p;
    printf("cleanup ran\n");
}

static void *
ends(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_cleanup_push(cleanup, NULL);
    syscall(SYS_exit, 5);
    pthread_cleanup_pop(0);
    return arg;
}

static void *
later(void *arg)
{
    msleep(50);
    printf("after main\n");
    exit(0);
    return arg;
}

int
main(void)
{
    void *r;

    CHECK(pthread_key_create(&key, destructor) == 0);
    for (int i = 0; i < 20; i++) {
        r = &key;
        CHECK(pthread_join(spawn(ends, &key), &r) == 0);
        CHECK(r == NULL);
    }
    printf("twenty joined\n");
    fflush(stdout);
    spawn(later, NULL);
    syscall(SYS_exit, 0);
    return 1;
}

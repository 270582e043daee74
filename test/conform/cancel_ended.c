/*
 * pthread_cancel of a thread that has ended and was not joined: 0, and join still gives the value that it
 * returned; pthread_kill likewise.  One that disabled cancellation or is in pthread_exit keeps its value.  POSIX
 * pthread_cancel; 2.9.2 (its lifetime ends with join).
 */
#include "conform.h"
#include <signal.h>

static int ended;
static pthread_key_t key;

static void
last(void *arg)
{
    (void)arg;
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
}

static void *
returns(void *arg)
{
    pthread_setspecific(key, "");
    return arg;
}

static void *
exits(void *arg)
{
    pthread_setspecific(key, "");
    pthread_cancel(pthread_self());
    pthread_exit(arg);
}

static void *
disabled(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setspecific(key, "");
    pthread_cancel(pthread_self());
    usleep(1000);
    pthread_testcancel();
    return arg;
}

static void
test(const char *name, void *(*fn)(void *))
{
    pthread_t t = spawn(fn, "its value");
    void *ret;

    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
        msleep(1);
    msleep(10);
    ended = 0;
    printf("%s: cancel %s, ", name, errname(pthread_cancel(t)));
    printf("kill 0 %s, ", errname(pthread_kill(t, 0)));
    printf("kill %s, ", errname(pthread_kill(t, SIGUSR1)));
    OK(pthread_join(t, &ret));
    printf("%s\n", ret == PTHREAD_CANCELED ? "canceled" : (char *)ret);
}

int
main(void)
{
    OK(pthread_key_create(&key, last));
    test("returns", returns);
    test("exits", exits);
    test("disabled", disabled);
    return conform_status();
}

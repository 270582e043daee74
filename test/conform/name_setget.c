/*
 * Thread names: inherited from the creator, set for oneself and for another, ERANGE when longer than
 * 15 bytes or when the buffer is shorter than 16.  glibc pthread_setname_np(3).
 */
#include "conform.h"

static void *
body(void *arg)
{
    char name[16] = "";

    (void)arg;
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("inherited: %s\n", name);
    RC(pthread_setname_np(pthread_self(), "worker"));
    RC(pthread_getname_np(pthread_self(), name, sizeof name));
    printf("set by itself: %s\n", name);
    start_wait();
    start_wait();
    RC(pthread_getname_np(pthread_self(), name, sizeof name));
    printf("set by main: %s\n", name);
    return NULL;
}

int
main(void)
{
    char name[16] = "", small[15];
    pthread_t t;

    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    printf("main: %s\n", name);
    RC(pthread_setname_np(pthread_self(), "the-main-thread"));
    RC(pthread_setname_np(pthread_self(), "sixteen-bytes-xx"));
    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    RC(pthread_getname_np(t, small, sizeof small));
    RC(pthread_getname_np(t, name, sizeof name));
    printf("seen by main: %s\n", name);
    RC(pthread_setname_np(t, "from-main"));
    RC(pthread_setname_np(t, "sixteen-bytes-xx"));
    start_wait();
    join(t);
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    printf("main: %s\n", name);
    return conform_status();
}

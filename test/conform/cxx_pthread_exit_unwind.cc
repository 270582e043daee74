/*
 * pthread_exit and pthread_cancel unwind C++ frames: destructors run, innermost first; catch (...) sees
 * the forced unwind and must rethrow; thread_local objects go after the frames.  glibc with libgcc.
 */
#include "conform.h"
#include <thread>

struct Loud {
    const char *name;
    ~Loud() { printf("  ~%s\n", name); }
};

static thread_local Loud tls{ "thread_local" };

static void __attribute__((noinline))
inner(bool exits)
{
    Loud l{ "inner" };

    (void)tls.name;
    if (exits)
        pthread_exit((void *)5);
    for (;;)
        pause();
}

static void __attribute__((noinline))
outer(bool exits)
{
    Loud l{ "outer" };

    try {
        inner(exits);
    } catch (...) {
        printf("  catch (...)\n");
        throw;
    }
}

static void *
body(void *arg)
{
    Loud l{ "body" };

    start_wait();
    outer(arg != nullptr);
    return nullptr;
}

int
main()
{
    pthread_t t;

    start_init(2);
    printf("pthread_exit:\n");
    t = spawn(body, &t);
    start_wait();
    printf("value %ld\n", (long)(intptr_t)join(t));
    printf("pthread_cancel:\n");
    t = spawn(body, nullptr);
    start_wait();
    msleep(5);
    OK(pthread_cancel(t));
    printf("canceled %d\n", join(t) == PTHREAD_CANCELED);
    return conform_status();
}

/*
 * exit in a thread runs what atexit and on_exit registered, in reverse order and on that thread, with the status,
 * while others wait; they may wait, too, and register more.  conform: exits 9.  POSIX exit; on_exit(3).
 */
#include "conform.h"

static __thread int mine;

static void
late(void)
{
    printf("registered by a handler\n");
}

static void
first(void)
{
    printf("atexit first, on the thread %d\n", mine);
}

static void
onexit(int status, void *arg)
{
    usleep(2000);
    printf("on_exit: status %d, %s\n", status, (char *)arg);
    CHECK(atexit(late) == 0);
}

static void
last(void)
{
    printf("atexit last, on the thread %d\n", mine);
}

static void *
waits(void *arg)
{
    pause();
    return arg;
}

static void *
exits(void *arg)
{
    mine = 5;
    CHECK(on_exit(onexit, arg) == 0);
    CHECK(atexit(last) == 0);
    exit(9);
}

int
main(void)
{
    CHECK(atexit(first) == 0);
    for (int i = 0; i < 3; i++)
        spawn(waits, NULL);
    join(spawn(exits, "its argument"));
    return 1;
}

/*
 * _exit in a thread ends the whole process at once: no handlers, no flush.  conform: exits 4.
 * POSIX _exit.
 */
#include "conform.h"

static void
bye(void)
{
    printf("never here\n");
}

static void *
body(void *arg)
{
    (void)arg;
    printf("not flushed");
    _exit(4);
}

int
main(void)
{
    atexit(bye);
    printf("flushed\n");
    fflush(stdout);
    join(spawn(body, NULL));
    return 9;
}

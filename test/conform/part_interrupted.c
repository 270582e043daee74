/*
 * A write that has written a part and then waits ends at a handler, with that part, whatever SA_RESTART says.  pipe(7), signal(7).
 */
#include "conform.h"
#include <signal.h>

enum { SIZE = 200000 };         /* more than a pipe holds */

static int p[2];
static char data[SIZE];
static volatile int done;

static void
handler(int sig)
{
    (void)sig;
}

static void *
writer(void *unused)
{
    ssize_t n = write(p[1], data, SIZE);

    done = 1;
    printf("%zd %s\n", n, n < 0 ? errname(errno) : "-");
    return unused;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t;

    sigaction(SIGUSR1, &sa, NULL);
    CHECK(pipe(p) == 0);
    t = spawn(writer, NULL);
    for (int i = 0; !done && i < 200; i++) {
        msleep(20);
        pthread_kill(t, SIGUSR1);
    }
    while (!done)               /* it goes on after all */
        CHECK(read(p[0], data, 1000) > 0);
    join(t);
    return conform_status();
}

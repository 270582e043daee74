/*
 * A program with threads alive closes every descriptor above 2, by close_range and by closefrom, as daemons
 * do: blocking on new pipes, sleeping and polling work as before.  close_range(2), closefrom(3).
 */
#include "conform.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

static int p[2], stop;
static unsigned long naps;

static void *
napper(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        msleep(2);
        __atomic_fetch_add(&naps, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void *
writer(void *arg)
{
    (void)arg;
    msleep(10);
    CHECK(write(p[1], "x", 1) == 1);
    return NULL;
}

static void
use(const char *what)
{
    struct pollfd pfd;
    unsigned long n;
    pthread_t t;
    char c = 0;

    CHECK(pipe(p) == 0);
    t = spawn(writer, NULL);
    CHECK(read(p[0], &c, 1) == 1);
    join(t);
    t = spawn(writer, NULL);
    pfd = (struct pollfd){ p[0], POLLIN, 0 };
    CHECK(poll(&pfd, 1, -1) == 1);
    join(t);
    n = __atomic_load_n(&naps, __ATOMIC_RELAXED);
    while (__atomic_load_n(&naps, __ATOMIC_RELAXED) < n + 3)
        msleep(2);
    printf("%s: fds %d %d, byte %c, sleeper goes on\n", what, p[0], p[1], c);
}

int
main(void)
{
    pthread_t t;
    int i;

#ifdef SYS_close_range
    if (syscall(SYS_close_range, 1000000u, 1000000u, 0) != 0)
#endif
        SKIP("no close_range");
    CHECK(close_range(3, ~0U, 0) == 0);
    t = spawn(napper, NULL);
    use("before");
    SYS(close_range(3, ~0U, 0));
    use("after close_range");
    closefrom(3);
    use("after closefrom");
    for (i = 3; i < 1024; i++)
        close(i);
    use("after a loop of close");
    SYS(fcntl(5, F_GETFD));
    SYS(close_range(9, 8, 0));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(t);
    return conform_status();
}

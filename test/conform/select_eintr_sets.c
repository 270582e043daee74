/* A select that a handler breaks off leaves the sets as they were, in the first and in another thread. */
#include "conform.h"
#include <signal.h>
#include <sys/select.h>

static void
handler(int sig)
{
    (void)sig;
}

static int done;

static void *
selects(void *arg)
{
    struct timeval tv = { 10, 0 };
    fd_set rd, wr, ex;
    int p[2], n, e;

    CHECK(pipe(p) == 0);
    FD_ZERO(&rd);
    FD_ZERO(&wr);
    FD_ZERO(&ex);
    FD_SET(p[0], &rd);
    FD_SET(p[0], &ex);
    n = select(p[0] + 1, &rd, &wr, &ex, &tv);
    e = errno;
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    printf("%s: %d %s, sets %d %d %d\n", (char *)arg, n, errname(n < 0 ? e : 0), FD_ISSET(p[0], &rd) != 0,
           FD_ISSET(p[0], &wr) != 0, FD_ISSET(p[0], &ex) != 0);
    close(p[0]);
    close(p[1]);
    return NULL;
}

/* Again and again, since nobody can see whether the other is in select yet. */
static void *
kills(void *arg)
{
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        msleep(20);
        OK(pthread_kill(*(pthread_t *)arg, SIGUSR1));
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    pthread_t me = pthread_self(), killer, other;

    OK(sigaction(SIGUSR1, &sa, NULL));
    killer = spawn(kills, &me);
    selects("main");
    join(killer);
    __atomic_store_n(&done, 0, __ATOMIC_RELEASE);
    other = spawn(selects, "thread");
    killer = spawn(kills, &other);
    join(killer);
    join(other);
    return conform_status();
}

/*
 * The other end goes away: a blocked reader gets the end of file when the last writer closes, a blocked
 * writer EPIPE when the last reader closes; SIGPIPE goes to the writing thread.  POSIX read, write; pipe(7).
 */
#include "conform.h"
#include <signal.h>

static int fd[2];
static pthread_t piped;
static volatile sig_atomic_t pipes;

static void
onpipe(int sig)
{
    (void)sig;
    piped = pthread_self();
    pipes++;
}

static void *
reader(void *arg)
{
    char c;

    (void)arg;
    SYS(read(fd[0], &c, 1));
    SYS(read(fd[0], &c, 1));
    return NULL;
}

static void *
writer(void *arg)
{
    static char buf[65536];
    ssize_t n;

    (void)arg;
    while ((n = write(fd[1], buf, sizeof buf)) == sizeof buf)
        ;
    printf("blocked write: %zd %s\n", n, errname(n < 0 ? errno : 0));
    SYS(write(fd[1], "x", 1));
    return NULL;
}

static void *
handled(void *arg)
{
    (void)arg;
    SYS(write(fd[1], "x", 1));
    printf("SIGPIPE %d times, %s\n", (int)pipes, pthread_equal(piped, pthread_self()) ? "here" : "elsewhere");
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onpipe };
    pthread_t t;
    int w2;

    CHECK(pipe(fd) == 0);
    w2 = dup(fd[1]);
    t = spawn(reader, NULL);
    msleep(20);
    close(fd[1]);
    msleep(20);
    close(w2);
    join(t);
    close(fd[0]);

    signal(SIGPIPE, SIG_IGN);
    CHECK(pipe(fd) == 0);
    t = spawn(writer, NULL);
    msleep(30);
    close(fd[0]);
    join(t);
    CHECK(sigaction(SIGPIPE, &sa, NULL) == 0);
    join(spawn(handled, NULL));
    return conform_status();
}

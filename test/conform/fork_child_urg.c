/*
 * The child of a threaded process makes threads itself, and its child again; in each of them a SIGURG is
 * ignored, or goes to the handler that the program has set, once.  POSIX fork (signal actions are inherited).
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

static _Atomic int count;

static void
handler(int sig)
{
    (void)sig;
    count++;
}

static void *
thread(void *arg)
{
    volatile unsigned long n = 0;

    while (n < 3000000)         /* long enough to be preempted, where that is done by this signal */
        n++;
    return arg;
}

static void
several(const char *who)
{
    pthread_t t[4];
    int i;

    for (i = 0; i < 4; i++)
        t[i] = spawn(thread, NULL);
    for (i = 0; i < 4; i++)
        join(t[i]);
    count = 0;
    CHECK(kill(getpid(), SIGURG) == 0);
    msleep(10);
    printf("%s: %d handled\n", who, count);
    fflush(stdout);
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    int handled, depth, status;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (handled = 0; handled < 2; handled++) {
        several(handled ? "process, with a handler" : "process");
        for (depth = 0; depth < 3; depth++) {
            pid_t pid = fork();

            if (pid == 0) {
                several(handled ? "descendant, with a handler" : "descendant");
                continue;       /* its child is next */
            }
            CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
            if (depth > 0)
                _exit(conform_status());
            break;
        }
        if (depth == 3)
            _exit(conform_status());
        OK(sigaction(SIGURG, &sa, NULL));
    }
    return conform_status();
}

/* A thread forks; in the child, where it is the only thread, it ends: by return or pthread_exit, after it
 * made no thread, one that it joined, or one that outlives it. The child ends with its last thread, with
 * status 0, after its exit handlers. */
#include "conform.h"
#include <sys/wait.h>

enum { Rounds = 5 };

static int how;

static void
athandler(void)
{
    printf("exit handlers ran\n");
    fflush(stdout);
}

static void *
later(void *arg)
{
    msleep(20);
    return arg;
}

static void *
forker(void *arg)
{
    int st;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(10);
        if (how / 2 == 1)
            join(spawn(later, NULL));
        else if (how / 2 == 2)
            OK(pthread_detach(spawn(later, NULL)));
        if (how % 2 == 1)
            pthread_exit(NULL);
        return NULL;
    }
    CHECK(waitpid(pid, &st, 0) == pid);
    if (WIFSIGNALED(st))
        printf("died by %d\n", WTERMSIG(st));
    else
        printf("status %d\n", WEXITSTATUS(st));
    return arg;
}

int
main(void)
{
    atexit(athandler);
    for (how = 0; how < 6; how++)
        for (int i = 0; i < Rounds; i++) {
            printf("%s, %s thread: ", how % 2 == 1 ? "pthread_exit" : "return", how / 2 == 0 ? "no" : how / 2 == 1 ? "a joined" : "a later");
            join(spawn(forker, NULL));
        }
    return conform_status();
}

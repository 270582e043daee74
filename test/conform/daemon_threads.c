/*
 * daemon(3) in a program that has had threads: the caller's process ends with status 0, its child has no
 * threads, a session of its own, and can make new ones.  daemon(3).
 */
#include "conform.h"
#include <sys/wait.h>

static int fd[2];

static void *
brief(void *arg)
{
    usleep(100);
    return arg;
}

static void *
forever(void *arg)
{
    pause();
    return arg;
}

static void
asdaemon(void)
{
    char line[80];
    pid_t before = getpid();
    int n, sum = 0;

    join(spawn(brief, NULL));
    spawn(forever, NULL);
    if (daemon(1, 1) != 0)
        _exit(3);
    for (intptr_t i = 1; i <= 4; i++)
        sum += (int)(intptr_t)join(spawn(brief, (void *)i));
    n = snprintf(line, sizeof line, "sum %d, another process %d, session %d\n", sum, getpid() != before, getsid(0) != getpid());
    CHECK(write(fd[1], line, (size_t)n) == n);
    _exit(0);
}

int
main(void)
{
    char line[80] = "";
    pid_t pid;
    ssize_t n;
    int st;

    CHECK(pipe(fd) == 0);
    for (int i = 0; i < 2; i++) {
        if (i == 1)
            join(spawn(brief, NULL));   /* as a child of a program with threads */
        pid = fork();
        if (pid == 0)
            asdaemon();
        CHECK(waitpid(pid, &st, 0) == pid);
        printf("exit status %d\n", WEXITSTATUS(st));
        n = read(fd[0], line, sizeof line - 1);
        CHECK(n > 0);
        printf("%.*s", (int)n, line);
    }
    return conform_status();
}

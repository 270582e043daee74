/*
 * Ways to run a program from a process with threads: fork and exec, vfork and exec, posix_spawn with file
 * actions; from several threads at once; exec failure; what the program prints comes back.
 * POSIX fork, exec, posix_spawn; vfork(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int
status(pid_t pid)
{
    int st = -1;

    CHECK(waitpid(pid, &st, 0) == pid);
    return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static int
forkexec(const char *path, const char *script)
{
    pid_t pid = fork();

    if (pid == 0) {
        execl(path, path, "-c", script, (char *)NULL);
        _exit(127);
    }
    return status(pid);
}

static int
vforkexec(const char *path, const char *script)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execl(path, path, "-c", script, (char *)NULL);
        _exit(127);
    }
    return status(pid);
}

/* Runs the script with its output in a pipe, and prints that. */
static void
spawned(const char *script)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
    posix_spawn_file_actions_t fa;
    char buf[64] = "";
    size_t len = 0;
    ssize_t n;
    pid_t pid;
    int p[2];

    CHECK(pipe2(p, O_CLOEXEC) == 0);
    OK(posix_spawn_file_actions_init(&fa));
    OK(posix_spawn_file_actions_adddup2(&fa, p[1], 1));
    OK(posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ));
    OK(posix_spawn_file_actions_destroy(&fa));
    close(p[1]);
    while ((n = read(p[0], buf + len, sizeof buf - 1 - len)) > 0)
        len += (size_t)n;
    close(p[0]);
    printf("spawned: \"%s\", status %d\n", buf, status(pid));
}

static void *
several(void *arg)
{
    char script[32];
    int id = (int)(intptr_t)arg;

    snprintf(script, sizeof script, "exit %d", id);
    CHECK(forkexec("/bin/sh", script) == id);
    CHECK(vforkexec("/bin/sh", script) == id);
    return NULL;
}

static void *
body(void *arg)
{
    char *argv[] = { (char *)"nothing", NULL };
    pthread_t t[4];
    pid_t pid;
    int i;

    (void)arg;
    printf("fork, /bin/true: %d\n", forkexec("/bin/true", ""));
    printf("fork, /bin/sh: %d\n", forkexec("/bin/sh", "exit 7"));
    printf("fork, by a signal: %d\n", forkexec("/bin/sh", "kill -9 $$"));
    printf("fork, no such file: %d\n", forkexec("/nonexistent/program", ""));
    printf("vfork, /bin/sh: %d\n", vforkexec("/bin/sh", "exit 8"));
    printf("vfork, no such file: %d\n", vforkexec("/nonexistent/program", ""));
    spawned("echo hello; exit 9");
    printf("posix_spawn, no such file: %s\n",
           errname(posix_spawn(&pid, "/nonexistent/program", NULL, NULL, argv, environ)));
    printf("posix_spawnp, no such file: %s\n",
           errname(posix_spawnp(&pid, "no-such-program", NULL, NULL, argv, environ)));
    for (i = 0; i < 4; i++)
        t[i] = spawn(several, (void *)(intptr_t)(i + 20));
    for (i = 0; i < 4; i++)
        join(t[i]);
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    fflush(stdout);
    return conform_status();
}

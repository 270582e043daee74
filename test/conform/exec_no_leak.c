/*
 * A program that is run from a process with threads has only the descriptors that the process did not mark
 * close-on-exec: none of the runtime's.  POSIX exec, FD_CLOEXEC.
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/wait.h>

static void *
sleeper(void *arg)
{
    int *p = arg;
    char c;

    CHECK(read(p[0], &c, 1) == 1);
    return NULL;
}

static void *
lister(void *arg)
{
    char line[64];
    FILE *f;

    (void)arg;
    fflush(stdout);
    f = popen("exec ls /proc/self/fd", "r");
    printf("popen:");
    while (f && fgets(line, sizeof line, f))
        printf(" %.*s", (int)strcspn(line, "\n"), line);
    printf("\n");
    if (f)
        CHECK(pclose(f) == 0);
    return NULL;
}

int
main(void)
{
    int p[2], kept, st;
    pthread_t t;
    pid_t pid;

    CHECK(pipe2(p, O_CLOEXEC) == 0);
    kept = open("/dev/null", O_RDONLY);
    t = spawn(sleeper, p);
    msleep(10);
    join(spawn(lister, NULL));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exec ls /proc/self/fd", (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(pid, &st, 0) == pid && st == 0);
    printf("kept %s\n", fcntl(kept, F_GETFD) >= 0 ? "open" : "closed");
    CHECK(write(p[1], "x", 1) == 1);
    join(t);
    return conform_status();
}

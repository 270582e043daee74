/*
 * exec of the program itself from a thread while others run replaces the whole process: same pid, its
 * descriptors and ignored signals kept, masks inherited, and threads work in the new image.  POSIX exec.
 */
#include "conform.h"
#include <fcntl.h>
#include <signal.h>

static void *
spin(void *arg)
{
    for (;;)
        msleep(1);
    return arg;
}

static void *
adder(void *arg)
{
    return (void *)((intptr_t)arg + 1);
}

static void *
execer(void *arg)
{
    char pid[16], fd[16];
    sigset_t set;

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(fd, sizeof fd, "%d", *(int *)arg);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    execl("/proc/self/exe", "conform", pid, fd, (char *)NULL);
    printf("execl: %s\n", errname(errno));
    return NULL;
}

static int
second(char **argv)
{
    int fd = atoi(argv[2]), n;
    char buf[16] = "";
    struct sigaction sa;
    sigset_t set;

    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0);
    CHECK(sigaction(SIGUSR1, NULL, &sa) == 0);
    n = (int)read(fd, buf, sizeof buf - 1);
    printf("pid %s, pipe %d \"%s\", SIGUSR1 %s, SIGUSR2 %s, SIGHUP %s\n",
           atoi(argv[1]) == getpid() ? "same" : "different", n, buf,
           sa.sa_handler == SIG_IGN ? "ignored" : "not ignored",
           sigismember(&set, SIGUSR2) ? "blocked" : "open", sigismember(&set, SIGHUP) ? "blocked" : "open");
    CHECK(sigaction(SIGURG, NULL, &sa) == 0);
    printf("SIGURG %s, %s\n", sa.sa_handler == SIG_DFL ? "default" : "not default",
           sigismember(&set, SIGURG) ? "blocked" : "open");
    SYS(fcntl(fd, F_GETFD));
    printf("thread %ld\n", (long)(intptr_t)join(spawn(adder, (void *)41)));
    return conform_status();
}

int
main(int argc, char **argv)
{
    int p[2], i;

    if (argc == 3)
        return second(argv);
    signal(SIGUSR1, SIG_IGN);
    CHECK(pipe(p) == 0);
    CHECK(write(p[1], "kept", 4) == 4);
    for (i = 0; i < 3; i++)
        spawn(spin, NULL);
    join(spawn(execer, &p[0]));
    return 1;
}

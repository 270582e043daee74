/*
 * posix_spawn from a thread: the child has the thread's signal mask and ignored signals, or those of the
 * attributes (SETSIGMASK, SETSIGDEF, SETPGROUP), and the file actions; vfork and exec do likewise.  The program
 * runs itself and prints what it sees.  POSIX posix_spawn.
 */
#include "conform.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char *self_path;

static int
child(const char *name)
{
    struct sigaction sa;
    sigset_t now;

    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigaction(SIGUSR2, NULL, &sa) == 0);
    printf("%s: USR1 %d, TERM %d, HUP %d blocked; USR2 %s; ", name, sigismember(&now, SIGUSR1), sigismember(&now, SIGTERM),
           sigismember(&now, SIGHUP), sa.sa_handler == SIG_IGN ? "ignored" : "default");
    CHECK(sigaction(SIGALRM, NULL, &sa) == 0);
    printf("ALRM %s; leader %d; fd 9 %d\n", sa.sa_handler == SIG_DFL ? "default" : "?", getpgrp() == getpid(), fcntl(9, F_GETFD) >= 0);
    return conform_status();
}

static void
reap(pid_t pid)
{
    int st;

    CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 0);
}

static void
spawned(const char *name, short flags)
{
    posix_spawnattr_t a;
    posix_spawn_file_actions_t fa;
    char *argv[] = { self_path, (char *)(uintptr_t)name, NULL };
    sigset_t set;
    pid_t pid;

    posix_spawnattr_init(&a);
    posix_spawn_file_actions_init(&fa);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    posix_spawnattr_setsigmask(&a, &set);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    posix_spawnattr_setsigdefault(&a, &set);
    posix_spawnattr_setflags(&a, flags);
    posix_spawn_file_actions_adddup2(&fa, 1, 9);
    fflush(stdout);
    OK(posix_spawn(&pid, "/proc/self/exe", &fa, &a, argv, environ));
    reap(pid);
    posix_spawn_file_actions_destroy(&fa);
    posix_spawnattr_destroy(&a);
}

static void
handler(int sig)
{
    (void)sig;
}

static void *
test(void *arg)
{
    char *argv[] = { self_path, "vfork", NULL };
    sigset_t set;
    pid_t pid;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    spawned("spawn", 0);
    spawned("spawn, mask", POSIX_SPAWN_SETSIGMASK);
    spawned("spawn, default", POSIX_SPAWN_SETSIGDEF);
    spawned("spawn, group", POSIX_SPAWN_SETPGROUP);
    spawned("spawn, all", POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid = vfork();
    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    reap(pid);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    spawned("spawn, unblocked", 0);
    OK(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ) == ENOENT ? 0 : EINVAL);
    return arg;
}

int
main(int argc, char **argv)
{
    self_path = argv[0];
    if (argc > 1)
        return child(argv[1]);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGALRM, handler);
    test(NULL);
    join(spawn(test, NULL));
    return conform_status();
}

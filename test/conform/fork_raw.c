/*
 * Children made past the wrapper: syscall(SYS_fork), syscall(SYS_clone, SIGCHLD), _Fork, from main and from a
 * thread while others wait and compute.  Each child uses pipes, sleeps, handles a signal and exits; the parent
 * reaps it.  clone(2), fork(2); POSIX.1-2024 _Fork.
 */
#include "conform.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int stop;

static void *
computer(void *arg)
{
    volatile long x = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        if (arg == NULL)
            x++;
        else
            usleep(300);
    return arg;
}

static volatile sig_atomic_t handled;

static void
handler(int sig)
{
    handled += sig == SIGUSR1;
}

static int
child(void)
{
    char c = 0;
    int fd[2];

    if (pipe(fd) != 0 || write(fd[1], "x", 1) != 1 || read(fd[0], &c, 1) != 1 || c != 'x')
        return 1;
    if (usleep(1000) != 0)
        return 2;
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    return handled == 1 && getppid() > 1 ? 7 : 3;
}

static pid_t
make(int how)
{
    switch (how) {
    case 0: return (pid_t)syscall(SYS_fork);
    case 1: return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    case 2: return _Fork();
    default: return fork();
    }
}

static void *
test(void *arg)
{
    static const char *const names[] = { "SYS_fork", "SYS_clone", "_Fork", "fork" };

    for (int how = 0; how < 4; how++) {
        int good = 0;

        for (int i = 0; i < 10; i++) {
            pid_t pid = make(how);
            int st = 0;

            if (pid == 0)
                _exit(child());
            CHECK(pid > 0 && waitpid(pid, &st, 0) == pid);
            good += WIFEXITED(st) && WEXITSTATUS(st) == 7;
        }
        printf("%s, %s: %d\n", (char *)arg, names[how], good);
    }
    return NULL;
}

int
main(void)
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        t[i] = spawn(computer, i % 2 ? "" : NULL);
    test("main");
    join(spawn(test, "thread"));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++)
        join(t[i]);
    return conform_status();
}

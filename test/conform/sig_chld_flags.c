/*
 * SIGCHLD: SA_NOCLDSTOP has none sent for a child that stops, SA_NOCLDWAIT leaves no zombies and wait fails
 * with ECHILD when the last has gone; with neither there is one, whose siginfo tells the status.  Threads
 * wait meanwhile.  POSIX sigaction.
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t calls, code, status;
static volatile pid_t from;
static int fd[2];

static void
handler(int sig, siginfo_t *info, void *uc)
{
    (void)sig;
    (void)uc;
    code = info->si_code;
    status = info->si_status;
    from = info->si_pid;
    calls++;
}

static void *
sleeper(void *arg)
{
    msleep(300);
    return arg;
}

static pid_t
stopped(int flags)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART | flags };
    pid_t pid;
    int st;

    CHECK(sigaction(SIGCHLD, &sa, NULL) == 0);
    calls = code = status = 0;
    pid = fork();
    if (pid == 0) {
        char b;

        raise(SIGSTOP);
        _exit(read(fd[0], &b, 1) == 1 ? 7 : 8);
    }
    CHECK(waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st));
    return pid;
}

static void *
test(void *arg)
{
    struct sigaction sa = { .sa_handler = SIG_DFL };
    pid_t pid = stopped(0);
    int st;

    while (calls < 1)
        msleep(1);
    printf("stopped: code %s, status %d, pid %d\n", code == CLD_STOPPED ? "CLD_STOPPED" : "?", status == SIGSTOP, from == pid);
    kill(pid, SIGCONT);
    while (calls < 2)           /* or the next one might be merged with it */
        msleep(1);
    printf("continued: code %s\n", code == CLD_CONTINUED ? "CLD_CONTINUED" : "?");
    CHECK(write(fd[1], "x", 1) == 1);
    CHECK(waitpid(pid, &st, 0) == pid && WEXITSTATUS(st) == 7);
    while (calls < 3)
        msleep(1);
    printf("exited: status %d, pid %d\n", (int)status, from == pid);

    pid = stopped(SA_NOCLDSTOP);
    msleep(20);
    printf("SA_NOCLDSTOP: %d\n", (int)calls);
    kill(pid, SIGCONT);
    CHECK(write(fd[1], "x", 1) == 1);
    CHECK(waitpid(pid, &st, 0) == pid);
    while (calls < 1)
        msleep(1);
    printf("exited: %d calls, %s\n", (int)calls, code == CLD_EXITED ? "CLD_EXITED" : "?");

    calls = 0;
    sa.sa_flags = SA_NOCLDWAIT;
    CHECK(sigaction(SIGCHLD, &sa, NULL) == 0);
    pid = fork();
    if (pid == 0) {
        usleep(20000);
        _exit(0);
    }
    SYS(waitpid(pid, &st, 0));
    SYS(wait(NULL));
    return arg;
}

int
main(void)
{
    pthread_t t[4];

    CHECK(pipe(fd) == 0);
    for (int i = 0; i < 4; i++)
        t[i] = spawn(sleeper, NULL);
    join(spawn(test, NULL));
    for (int i = 0; i < 4; i++)
        join(t[i]);
    return conform_status();
}

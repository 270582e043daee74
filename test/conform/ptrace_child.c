/*
 * ptrace from a thread: a forked child that calls PTRACE_TRACEME stops, the thread which made it waits, peeks,
 * continues it step by step with sleeps in between, and sees it exit; another thread may not trace it.  ptrace(2).
 */
#include "conform.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static volatile long word = 0x1234;
static pid_t pid;

static void *
other(void *arg)
{
    printf("another thread: ");
    SYS(ptrace(PTRACE_CONT, pid, NULL, NULL));
    return arg;
}

static void *
tracer(void *arg)
{
    int st;
    long got;

    pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        word = 0x5678;
        raise(SIGSTOP);
        raise(SIGUSR1);
        _exit(word == 0x9abc ? 5 : 6);
    }
    CHECK(waitpid(pid, &st, 0) == pid);
    printf("stopped %d by %d\n", WIFSTOPPED(st), WIFSTOPPED(st) ? WSTOPSIG(st) == SIGSTOP : 0);
    usleep(2000);
    errno = 0;
    got = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)&word, NULL);
    printf("peek %lx\n", got);
    SYS(ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)&word, (void *)0x9abc));
    join(spawn(other, NULL));
    usleep(1000);
    SYS(ptrace(PTRACE_CONT, pid, NULL, NULL));
    CHECK(waitpid(pid, &st, 0) == pid);
    printf("stopped %d by USR1 %d\n", WIFSTOPPED(st), WIFSTOPPED(st) ? WSTOPSIG(st) == SIGUSR1 : 0);
    SYS(ptrace(PTRACE_CONT, pid, NULL, NULL));      /* without the signal */
    CHECK(waitpid(pid, &st, 0) == pid);
    printf("exit status %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    return arg;
}

static void *
sleeper(void *arg)
{
    for (int i = 0; i < 50; i++)
        usleep(500);
    return arg;
}

int
main(void)
{
    pthread_t t = spawn(sleeper, NULL), u = spawn(tracer, NULL);

    join(u);
    join(t);
    return conform_status();
}

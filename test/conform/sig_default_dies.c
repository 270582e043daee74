/*
 * A signal with the default action that a thread sends to the process or to one thread ends the whole
 * process with that signal, while others sleep and compute; exit from a thread ends it with that status;
 * abort is SIGABRT.  Each in a child of its own.  POSIX kill, exit, abort; signal(7).
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

static int how;

static void *
sleeper(void *arg)
{
    for (;;)
        msleep(1000);
    return arg;
}

static void *
computer(void *arg)
{
    volatile unsigned long x = 0;

    for (;;)
        x++;
    return arg;
}

static void *
doer(void *arg)
{
    pthread_t *other = arg;

    msleep(10);
    switch (how) {
    case 0: kill(getpid(), SIGTERM); break;
    case 1: kill(getpid(), SIGKILL); break;
    case 2: pthread_kill(*other, SIGUSR1); break;
    case 3: raise(SIGUSR2); break;
    case 4: abort(); break;
    case 5: exit(12); break;
    case 6: _exit(13); break;
    case 7: *(volatile int *)NULL = 1; break;
    case 8: alarm(1); break;
    }
    for (;;)
        msleep(1000);
    return NULL;
}

int
main(void)
{
    static const char *const name[] = { "kill SIGTERM", "kill SIGKILL", "pthread_kill SIGUSR1", "raise SIGUSR2",
                                        "abort", "exit", "_exit", "null pointer", "alarm" };
    for (how = 0; how < 9; how++) {
        int st;
        pid_t pid;

        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            pthread_t t[3];

            t[0] = spawn(sleeper, NULL);
            t[1] = spawn(computer, NULL);
            t[2] = spawn(doer, &t[0]);
            join(t[2]);
            _exit(99);
        }
        CHECK(waitpid(pid, &st, 0) == pid);
        if (WIFSIGNALED(st))
            printf("%s: signal %d\n", name[how], WTERMSIG(st));
        else
            printf("%s: status %d\n", name[how], WEXITSTATUS(st));
    }
    return conform_status();
}

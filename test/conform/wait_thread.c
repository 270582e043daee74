/*
 * waitpid, waitid and wait4 block one thread while others go on; any thread may reap the process's children;
 * ECHILD when there is none; WNOHANG is 0 while the child lives.  POSIX wait, waitid.
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

enum { N = 8 };

static int gate[2];
static unsigned long ticks;
static int stop;

/* A child that ends with the given status when the gate closes. */
static pid_t
child(int status)
{
    pid_t pid = fork();

    if (pid == 0) {
        char c;

        close(gate[1]);
        while (read(gate[0], &c, 1) > 0)
            ;
        _exit(status);
    }
    return pid;
}

static void *
reaper(void *arg)
{
    int status = 0;

    CHECK(waitpid(*(pid_t *)arg, &status, 0) == *(pid_t *)arg);
    return (void *)(intptr_t)(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void *
ticker(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
        msleep(1);
    }
    return NULL;
}

int
main(void)
{
    pid_t pid[N];
    pthread_t t[N], tick;
    siginfo_t si;
    int i, status;

    CHECK(pipe(gate) == 0);
    tick = spawn(ticker, NULL);
    for (i = 0; i < N; i++) {
        pid[i] = child(10 + i);
        t[i] = spawn(reaper, &pid[i]);
    }
    SYS(waitpid(pid[0], &status, WNOHANG));
    while (__atomic_load_n(&ticks, __ATOMIC_RELAXED) < 10)
        msleep(1);
    close(gate[1]);
    printf("status");
    for (i = 0; i < N; i++)
        printf(" %d", (int)(intptr_t)join(t[i]));
    printf("\n");
    SYS(waitpid(-1, &status, 0));
    SYS(waitpid(pid[0], &status, 0));

    close(gate[0]);
    CHECK(pipe(gate) == 0);
    pid[0] = child(0);
    CHECK(kill(pid[0], SIGKILL) == 0);
    CHECK(waitid(P_PID, (id_t)pid[0], &si, WEXITED | WNOWAIT) == 0);
    printf("waitid: %s %d\n", si.si_code == CLD_KILLED ? "killed by" : "otherwise", si.si_status);
    CHECK(wait4(pid[0], &status, 0, NULL) == pid[0]);
    printf("wait4: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(tick);
    return conform_status();
}

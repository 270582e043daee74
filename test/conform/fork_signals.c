/*
 * The child of fork has the forking thread's signal mask and alternate stack, and no pending signals, neither
 * the thread's nor the process's; the parent keeps its own.  POSIX fork.
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

static void
show(const char *who)
{
    sigset_t mask, pend;
    stack_t st;

    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pend);
    sigaltstack(NULL, &st);
    printf("%s: blocked USR1 %d, USR2 %d, TERM %d, RT %d; pending USR1 %d, USR2 %d, RT %d; alternate stack %d\n", who,
           sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2), sigismember(&mask, SIGTERM), sigismember(&mask, SIGRTMIN),
           sigismember(&pend, SIGUSR1), sigismember(&pend, SIGUSR2), sigismember(&pend, SIGRTMIN), !(st.ss_flags & SS_DISABLE));
    fflush(stdout);
}

static void *
body(void *arg)
{
    static char alt[65536];
    stack_t st = { .ss_sp = alt, .ss_size = sizeof alt };
    struct timespec zero = { 0, 0 };
    sigset_t set;
    siginfo_t info;
    pid_t pid;
    int status;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    if (arg != NULL)
        OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(arg == NULL || sigaltstack(&st, NULL) == 0);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    OK(pthread_sigqueue(pthread_self(), SIGRTMIN, (union sigval){ .sival_int = 5 }));
    CHECK(kill(getpid(), SIGUSR2) == 0);
    pid = fork();
    if (pid == 0) {
        show("child");
        OK(pthread_kill(pthread_self(), SIGUSR1));
        show("child");
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    show("parent");
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    for (int i = 0; i < 3; i++) {
        int sig = sigtimedwait(&set, &info, &zero);

        printf("took %s\n", sig == SIGUSR1 ? "USR1" : sig == SIGUSR2 ? "USR2" : sig == SIGRTMIN ? "RT" : "none");
    }
    return arg;
}

int
main(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    body(NULL);
    join(spawn(body, ""));
    body(NULL);
    return conform_status();
}

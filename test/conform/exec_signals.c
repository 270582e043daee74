/*
 * exec from a thread: the new program has that thread's mask, the ignored signals, its pending signals and the
 * process's; handlers are reset, alternate stack and other threads are gone, the pid is the same.  POSIX exec.
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

static char *self_path;

static const char *
action(int sig)
{
    struct sigaction sa;

    sigaction(sig, NULL, &sa);
    return sa.sa_handler == SIG_DFL ? "default" : sa.sa_handler == SIG_IGN ? "ignored" : "handled";
}

static int
child(const char *pid)
{
    sigset_t mask, pend;
    stack_t st;
    siginfo_t info;
    struct timespec zero = { 0, 0 };

    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pend);
    sigaltstack(NULL, &st);
    printf("blocked USR1 %d, USR2 %d, TERM %d, RT %d; pending USR1 %d, USR2 %d, RT %d, HUP %d\n", sigismember(&mask, SIGUSR1),
           sigismember(&mask, SIGUSR2), sigismember(&mask, SIGTERM), sigismember(&mask, SIGRTMIN + 3), sigismember(&pend, SIGUSR1),
           sigismember(&pend, SIGUSR2), sigismember(&pend, SIGRTMIN + 3), sigismember(&pend, SIGHUP));
    printf("PIPE %s, ALRM %s, URG %s; alternate stack %d; same pid %d\n", action(SIGPIPE), action(SIGALRM), action(SIGURG),
           !(st.ss_flags & SS_DISABLE), atoi(pid) == getpid());
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN + 3);
    for (int i = 0; i < 3; i++) {
        int r = sigtimedwait(&mask, &info, &zero);

        printf("queued: %d, value %d\n", r == SIGRTMIN + 3, r > 0 ? info.si_value.sival_int : -1);
    }
    return conform_status();
}

static void
handler(int sig)
{
    (void)sig;
}

static void *
waits(void *arg)
{
    pause();
    return arg;
}

static void *
execs(void *arg)
{
    static char alt[65536];
    stack_t st = { .ss_sp = alt, .ss_size = sizeof alt };
    char pid[20], *argv[] = { self_path, pid, NULL };
    sigset_t set;

    (void)arg;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 3);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    CHECK(sigaltstack(&st, NULL) == 0);
    OK(pthread_kill(pthread_self(), SIGUSR1));
    OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){ .sival_int = 8 }));
    OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){ .sival_int = 9 }));
    CHECK(kill(getpid(), SIGUSR2) == 0);
    execv("/proc/self/exe", argv);
    _exit(127);
}

int
main(int argc, char **argv)
{
    sigset_t set;
    pid_t pid;
    int status;

    self_path = argv[0];
    if (argc > 1)
        return child(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, handler);
    signal(SIGURG, handler);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            if (i == 0)
                execs(NULL);
            OK(pthread_kill(spawn(waits, NULL), SIGUSR2));     /* another thread's: it is gone */
            join(spawn(execs, NULL));
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        printf("status %d\n", status);
    }
    return conform_status();
}

/*
 * SIGURG from another process, blocked by all threads, stays pending until one opens it; also while the first threads start.
 * signal(7).
 */
#include "conform.h"
#include <signal.h>
#include <sys/wait.h>

enum { ROUNDS = 12 };

static volatile int ran;

static void
handler(int sig)
{
    (void)sig;
    ran++;
}

static void *
nothing(void *arg)
{
    return arg;
}

static int
scenario(void)
{
    struct sigaction sa = { .sa_handler = handler };
    sigset_t set, pending;
    pid_t pid;
    int early;

    sigaction(SIGURG, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    join(spawn(nothing, NULL));
    if ((pid = fork()) == 0) {
        kill(getppid(), SIGURG);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    msleep(5);
    early = ran;
    sigpending(&pending);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return early == 0 && sigismember(&pending, SIGURG) && ran == 1 ? 0 : 1;
}

int
main(void)
{
    int status, bad = 0;

    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(scenario());
        CHECK(waitpid(pid, &status, 0) == pid);
        bad += status != 0;
    }
    printf("%d of %d wrong\n", bad, ROUNDS);
    return conform_status();
}

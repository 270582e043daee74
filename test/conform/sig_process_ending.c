/* Signals from another process, each after the one before was seen, while main blocks them, and the threads that do not are always about to end: each
 * is handled, by one of them or, when none is left, by main as soon as it unblocks. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

enum { Signals = 3000, Makers = 4 };

static _Atomic int stop;
static int seen[2];

static void
handler(int sig)
{
    char c = (char)sig;
    int e = errno;

    (void)!write(seen[1], &c, 1);
    errno = e;
}

static void *
brief(void *arg)
{
    return arg;
}

/* Blocks the signal itself; its threads do not. */
static void *
maker(void *arg)
{
    pthread_attr_t at;
    sigset_t set;

    sigemptyset(&set);
    OK(pthread_attr_init(&at));
    OK(pthread_attr_setsigmask_np(&at, &set));
    while (!stop) {
        pthread_t t;

        if (pthread_create(&t, &at, brief, NULL) == 0)
            pthread_join(t, NULL);
        usleep(100);
    }
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t[Makers];
    sigset_t set, old;
    int st;
    pid_t pid;
    char c;

    CHECK(pipe(seen) == 0);
    OK(sigaction(SIGUSR1, &sa, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pid = fork();
    if (pid == 0) {             /* one signal for each that was seen */
        close(seen[1]);
        for (int i = 0; i < Signals; i++)
            if (kill(getppid(), SIGUSR1) != 0 || read(seen[0], &c, 1) != 1)
                _exit(1);
        _exit(0);
    }
    OK(pthread_sigmask(SIG_BLOCK, &set, &old));
    for (int i = 0; i < Makers; i++)
        t[i] = spawn(maker, NULL);
    for (;;) {
        usleep(1000);
        if (waitpid(pid, &st, WNOHANG) == pid)
            break;
        OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
        OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    }
    stop = 1;
    for (int i = 0; i < Makers; i++)
        join(t[i]);
    printf("child %d\n", WEXITSTATUS(st));
    return conform_status();
}

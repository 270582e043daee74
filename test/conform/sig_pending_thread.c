/*
 * sigpending shows a thread what is pending for it and for the process: what pthread_kill sends to another
 * one it does not.  Accepting or unblocking it takes it away.  A new thread has none of its creator's.
 * POSIX sigpending, pthread_create.
 */
#include "conform.h"
#include <signal.h>

static pthread_barrier_t gate;

static void
show(const char *who)
{
    sigset_t set;

    sigemptyset(&set);
    CHECK(sigpending(&set) == 0);
    printf("%s: USR1 %d, USR2 %d, RT %d\n", who, sigismember(&set, SIGUSR1), sigismember(&set, SIGUSR2),
           sigismember(&set, SIGRTMIN + 2));
}

static void *
created(void *arg)
{
    show("its child");
    return arg;
}

static void *
body(void *arg)
{
    sigset_t set;
    siginfo_t info;
    struct timespec zero = { 0, 0 };

    pthread_barrier_wait(&gate);        /* sent */
    show("thread");
    join(spawn(created, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    SYS(sigtimedwait(&set, &info, &zero) == SIGUSR1);
    SYS(sigtimedwait(&set, &info, &zero));
    show("thread");
    pthread_barrier_wait(&gate);        /* accepted */
    pthread_barrier_wait(&gate);        /* main has looked */
    return arg;
}

int
main(void)
{
    sigset_t set;
    pthread_t t;
    int sig;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN + 2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    pthread_barrier_init(&gate, NULL, 2);
    t = spawn(body, NULL);
    show("main");
    OK(pthread_kill(t, SIGUSR1));
    OK(pthread_kill(t, SIGUSR1));
    OK(pthread_kill(t, SIGRTMIN + 2));
    CHECK(kill(getpid(), SIGUSR2) == 0);
    show("main");
    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
    show("main");
    OK(pthread_kill(pthread_self(), SIGUSR1));
    show("main");
    CHECK(sigwait(&set, &sig) == 0);
    CHECK(sigwait(&set, &sig) == 0);
    show("main");
    pthread_barrier_wait(&gate);
    join(t);
    return conform_status();
}

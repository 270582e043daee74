/*
 * With a signal blocked in every thread, a thread that waits in read on a signalfd gets what others send to
 * the process or to that thread, with its sender and value.  signalfd(2).
 */
#include "conform.h"
#include <signal.h>
#include <sys/signalfd.h>

static int done;

static void *
reader(void *arg)
{
    struct signalfd_siginfo si;
    sigset_t set;
    int fd, i;

    (void)arg;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    fd = signalfd(-1, &set, 0);
    for (i = 0; i < 3; i++) {
        CHECK(read(fd, &si, sizeof si) == sizeof si);
        printf("%s, from %s, value %d\n", si.ssi_signo == SIGUSR1 ? "SIGUSR1" : "SIGRTMIN",
               si.ssi_pid == (uint32_t)getpid() ? "this process" : "another", si.ssi_int);
        __atomic_store_n(&done, i + 1, __ATOMIC_RELEASE);
    }
    fd = signalfd(-1, &set, SFD_NONBLOCK);
    SYS(read(fd, &si, sizeof si));
    return NULL;
}

static void
upto(int n)
{
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < n)
        msleep(2);
    msleep(20);
}

int
main(void)
{
    union sigval v = { .sival_int = 42 };
    pthread_t t;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    t = spawn(reader, NULL);
    upto(0);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    upto(1);
    CHECK(sigqueue(getpid(), SIGRTMIN, v) == 0);
    upto(2);
    CHECK(pthread_kill(t, SIGUSR1) == 0);
    join(t);
    return conform_status();
}

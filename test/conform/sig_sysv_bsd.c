/*
 * The three old ways to install a handler, in a thread: sysv_signal's is reset when it is called and does not
 * block its signal; signal's and bsd_signal's stay and restart calls; siginterrupt turns that off and on
 * again.  sysv_signal(3), bsd_signal(3), siginterrupt(3).
 */
#include "conform.h"
#include <signal.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"      /* siginterrupt */
#ifdef __GLIBC__
extern sighandler_t bsd_signal(int, sighandler_t);      /* no header declares it any more */
#endif

static int fd[2], reading;
static volatile sig_atomic_t calls, blocked;

static void
handler(int sig)
{
    sigset_t now;

    calls++;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    blocked = sigismember(&now, sig);
}

static const char *
disposition(int sig)
{
    struct sigaction sa;

    CHECK(sigaction(sig, NULL, &sa) == 0);
    return sa.sa_handler == SIG_DFL ? "default" : sa.sa_handler == handler ? "handler" : "other";
}

static void *
reader(void *arg)
{
    char b = 0;
    ssize_t r;

    __atomic_store_n(&reading, 1, __ATOMIC_RELEASE);
    r = read(fd[0], &b, 1);

    printf("%s: read %zd %s\n", (char *)arg, r, r < 0 ? errname(errno) : "");
    return NULL;
}

/* A thread blocked in read gets the signal; then a byte, which it takes if the read was restarted. */
static void
interrupt(const char *name)
{
    pthread_t t = spawn(reader, (void *)(uintptr_t)name);
    int before = calls;
    char b;

    while (!__atomic_exchange_n(&reading, 0, __ATOMIC_ACQUIRE))
        msleep(1);
    msleep(50);
    OK(pthread_kill(t, SIGUSR1));
    while (calls == before)
        msleep(1);
    msleep(20);
    CHECK(write(fd[1], "x", 1) == 1);
    join(t);
    CHECK(write(fd[1], "y", 1) == 1);
    while (read(fd[0], &b, 1) == 1 && b != 'y')
        ;
}

static void *
old(void *arg)
{
    printf("sysv_signal: was %s\n", sysv_signal(SIGUSR2, handler) == SIG_DFL ? "default" : "?");
    raise(SIGUSR2);
    printf("handled %d, blocked %d, now %s\n", (int)calls, (int)blocked, disposition(SIGUSR2));
    printf("bsd_signal: was %s\n", bsd_signal(SIGUSR2, handler) == SIG_DFL ? "default" : "?");
    raise(SIGUSR2);
    raise(SIGUSR2);
    printf("handled %d, blocked %d, now %s\n", (int)calls, (int)blocked, disposition(SIGUSR2));
    return arg;
}

int
main(void)
{
    CHECK(pipe(fd) == 0);
    join(spawn(old, NULL));
    CHECK(signal(SIGUSR1, handler) == SIG_DFL);
    interrupt("signal");
    SYS(siginterrupt(SIGUSR1, 1));
    interrupt("siginterrupt 1");
    SYS(siginterrupt(SIGUSR1, 0));
    interrupt("siginterrupt 0");
    sysv_signal(SIGUSR1, handler);
    interrupt("sysv_signal");
    return conform_status();
}

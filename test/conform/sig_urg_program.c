/*
 * SIGURG belongs to the program: its disposition is the default until it sets one, a handler sees the
 * signals that were sent and no others while threads compute and yield, it can be blocked and waited for,
 * and out-of-band data raises it. POSIX sigaction; tcp(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

static int count, wrong;

static void
handler(int sig, siginfo_t *si, void *uc)
{
    (void)sig;
    (void)uc;
    if (si->si_code <= 0 && si->si_pid != getpid())
        wrong++;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static int
counted(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

static void *
computer(void *arg)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + 60000000;
    volatile unsigned long x = 0;
    int i;

    while (now_ns(CLOCK_MONOTONIC) < end) {
        for (i = 0; i < 100000; i++)
            x++;
    }
    return arg;
}

static void
compute(void)
{
    pthread_t t[6];
    int i;

    for (i = 0; i < 6; i++)
        t[i] = spawn(computer, NULL);
    for (i = 0; i < 6; i++)
        join(t[i]);
}

static void *
self(void *arg)
{
    RC(pthread_kill(pthread_self(), SIGURG));
    return arg;
}

static void
outofband(void)
{
    struct sockaddr_in sin = { .sin_family = AF_INET };
    socklen_t len = sizeof sin;
    int l = socket(AF_INET, SOCK_STREAM, 0), a, b, n = counted();
    char c = 0;

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 1) == 0);
    CHECK(getsockname(l, (struct sockaddr *)&sin, &len) == 0);
    a = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(a, (struct sockaddr *)&sin, sizeof sin) == 0);
    b = accept(l, NULL, NULL);
    CHECK(fcntl(b, F_SETOWN, getpid()) == 0);
    CHECK(send(a, "!", 1, MSG_OOB) == 1);
    while (counted() == n)
        msleep(1);
    CHECK(recv(b, &c, 1, MSG_OOB) == 1);
    printf("out of band: signals %d, byte %c\n", counted() - n, c);
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
    sigset_t set, pending;
    int sig = 0;

    compute();
    CHECK(sigaction(SIGURG, NULL, &old) == 0);
    printf("at first: %s, flags %x\n", old.sa_handler == SIG_DFL ? "default" : "another", (unsigned)old.sa_flags);
    CHECK(sigaction(SIGURG, &sa, &old) == 0);
    printf("replaced: %s\n", old.sa_handler == SIG_DFL ? "default" : "another");
    compute();
    printf("while computing: %d\n", counted());
    join(spawn(self, NULL));
    printf("after pthread_kill: %d\n", counted());
    SYS(kill(getpid(), SIGURG));
    printf("after kill: %d\n", counted());
    SYS(raise(SIGURG));
    printf("after raise: %d\n", counted());
    outofband();
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    compute();
    sigpending(&pending);
    printf("blocked: pending %d\n", sigismember(&pending, SIGURG));
    raise(SIGURG);
    sigpending(&pending);
    printf("raised: pending %d\n", sigismember(&pending, SIGURG));
    OK(sigwait(&set, &sig));
    printf("sigwait: %s\n", sig == SIGURG ? "SIGURG" : "another");
    signal(SIGURG, SIG_IGN);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    compute();
    CHECK(sigaction(SIGURG, NULL, &old) == 0);
    printf("ignored: %s; handled %d, wrong %d\n", old.sa_handler == SIG_IGN ? "so" : "not so", counted(), wrong);
    return conform_status();
}

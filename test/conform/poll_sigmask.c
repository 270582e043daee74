/*
 * ppoll and pselect set the mask for the time of the wait only: a signal that is blocked otherwise and comes
 * before or during the wait is handled in it, EINTR, and is blocked again afterwards; poll and select are
 * never restarted, SA_RESTART or not.  POSIX pselect; signal(7).
 */
#include "conform.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>

static volatile sig_atomic_t handled;
static int stage;

static void
handler(int sig)
{
    (void)sig;
    handled++;
}

static void
report(const char *what, int n)
{
    int e = errno;
    sigset_t now;

    pthread_sigmask(SIG_SETMASK, NULL, &now);
    printf("%s: %d %s, handled %d, %s\n", what, n, errname(n < 0 ? e : 0), (int)handled,
           sigismember(&now, SIGUSR1) ? "blocked" : "open");
    handled = 0;
}

static void *
waiter(void *arg)
{
    struct timespec ts = { 30, 0 };
    sigset_t usr1, none;

    (void)arg;
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &usr1, NULL) == 0);
    pthread_kill(pthread_self(), SIGUSR1);
    report("before", 0);
    report("ppoll, pending", ppoll(NULL, 0, &ts, &none));
    pthread_kill(pthread_self(), SIGUSR1);
    report("pselect, pending", pselect(0, NULL, NULL, NULL, &ts, &none));
    __atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
    report("ppoll, during", ppoll(NULL, 0, NULL, &none));
    __atomic_store_n(&stage, 2, __ATOMIC_RELEASE);
    report("pselect, during", pselect(0, NULL, NULL, NULL, NULL, &none));
    return NULL;
}

static int plain;

static void *
plainwaiter(void *arg)
{
    struct timeval tv = { 60, 0 };
    int e;

    (void)arg;
    e = poll(NULL, 0, 60000) < 0 ? errno : 0;
    printf("poll: %s\n", errname(e));
    __atomic_store_n(&plain, 1, __ATOMIC_RELEASE);
    e = select(0, NULL, NULL, NULL, &tv) < 0 ? errno : 0;
    printf("select: %s\n", errname(e));
    __atomic_store_n(&plain, 2, __ATOMIC_RELEASE);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t;
    int i;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    t = spawn(waiter, NULL);
    for (i = 1; i <= 2; i++) {
        while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != i)
            msleep(5);
        msleep(20);
        pthread_kill(t, SIGUSR1);
    }
    join(t);
    t = spawn(plainwaiter, NULL);
    while (__atomic_load_n(&plain, __ATOMIC_ACQUIRE) < 2) {
        msleep(10);
        if (__atomic_load_n(&plain, __ATOMIC_ACQUIRE) < 2)
            pthread_kill(t, SIGUSR1);
    }
    join(t);
    return conform_status();
}

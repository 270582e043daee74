/*
 * setitimer with the three clocks while threads run: ITIMER_REAL counts while all sleep, ITIMER_VIRTUAL and
 * ITIMER_PROF count the CPU time of all threads, so that they expire while others than main compute; one
 * without interval expires once, and getitimer then shows zero.  POSIX setitimer.
 */
#include "conform.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t calls[3];
static int stop;

static void
handler(int sig)
{
    calls[sig == SIGALRM ? 0 : sig == SIGVTALRM ? 1 : 2]++;
}

static void *
computer(void *arg)
{
    volatile unsigned long x = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        x++;
    return arg;
}

int
main(void)
{
    static const int which[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF }, sigs[] = { SIGALRM, SIGVTALRM, SIGPROF };
    static const char *const names[] = { "real", "virtual", "prof" };
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    struct itimerval many = { { 0, 5000 }, { 0, 5000 } }, once = { { 0, 0 }, { 0, 10000 } }, off = { { 0, 0 }, { 0, 0 } }, now;
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        CHECK(sigaction(sigs[i], &sa, NULL) == 0);
    for (int i = 0; i < 3; i++)
        t[i] = spawn(computer, NULL);
    for (int i = 0; i < 3; i++) {
        calls[i] = 0;
        SYS(setitimer(which[i], &many, NULL));
        while (calls[i] < 3)
            msleep(2);
        SYS(setitimer(which[i], &off, &now));
        printf("%s: came, interval %ld\n", names[i], (long)now.it_interval.tv_usec / 4000 * 5000);
        msleep(20);
        calls[i] = 0;
        SYS(setitimer(which[i], &once, NULL));
        while (calls[i] == 0)
            msleep(2);
        msleep(50);
        SYS(getitimer(which[i], &now));
        printf("%s: once %d, left %ld.%ld\n", names[i], (int)calls[i], (long)now.it_value.tv_sec, (long)now.it_value.tv_usec);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3; i++)
        join(t[i]);
    return conform_status();
}

/*
 * SIGALRM from alarm, setitimer and timer_create comes while threads compute and sleep; each handler runs
 * once per expiry; the program's timers go on after threads exist.  POSIX alarm, setitimer, timer_create.
 */
#include "conform.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms, timers;
static int stop;
static unsigned long sum;

static void
onalarm(int sig)
{
    (void)sig;
    alarms++;
}

static void
ontimer(int sig, siginfo_t *si, void *uc)
{
    (void)sig;
    (void)uc;
    timers += si->si_value.sival_int;
}

static void *
computer(void *arg)
{
    unsigned long x = 1;

    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        x = x * 6364136223846793005 + 1;
    __atomic_fetch_add(&sum, x, __ATOMIC_RELAXED);
    return NULL;
}

static void *
sleeper(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        msleep(1);
    return NULL;
}

static void *
notified(void *arg)
{
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onalarm };
    struct itimerval it = { { 0, 5000 }, { 0, 5000 } }, off = { { 0, 0 }, { 0, 0 } };
    struct itimerspec its = { { 0, 0 }, { 0, 20000000 } };
    struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
    struct timespec until;
    pthread_t c, s;
    timer_t tm;

    CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
    c = spawn(computer, NULL);
    s = spawn(sleeper, NULL);

    until = after_ms(CLOCK_MONOTONIC, 990);
    SYS(alarm(1));
    while (alarms == 0)
        pause();
    printf("alarm: %d, %s\n", (int)alarms, reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    alarm(100);
    printf("alarm(0): %s\n", alarm(0) > 90 ? "most left" : "wrong");

    alarms = 0;
    until = after_ms(CLOCK_MONOTONIC, 20);
    CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
    while (alarms < 4)
        pause();
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    printf("setitimer: four, %s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");

    sa = (struct sigaction){ .sa_sigaction = ontimer, .sa_flags = SA_SIGINFO };
    CHECK(sigaction(SIGRTMIN, &sa, NULL) == 0);
    se.sigev_value.sival_int = 7;
    CHECK(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0);
    CHECK(timer_settime(tm, 0, &its, NULL) == 0);
    while (timers == 0)
        msleep(1);
    printf("timer: value %d\n", (int)timers);
    CHECK(timer_delete(tm) == 0);

    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(c);
    join(s);
    printf("thread: %s\n", (char *)join(spawn(notified, (void *)"runs")));
    return conform_status();
}

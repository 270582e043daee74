/* A semaphore's wait and a handler: with a time limit it ends with EINTR even if the handler's signal restarts calls, without one
 * only if not; private and shared; and in a thread that libc made (SIGEV_THREAD). And what threads are told by pthread_kill when
 * the process may not queue signals (RLIMIT_SIGPENDING): the right thread's handler runs, also in one that computes. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>

static sem_t sem, done;
static volatile int in, stop;
static int timed;

static void onsig(int s) { (void)s; }
static void onleave(int s) { (void)s; pthread_exit((void *)7); }

static void *
waits(void *arg)
{
    struct timespec ts;
    int r;

    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_sec += 1;
    in = 1;
    r = timed ? sem_timedwait(&sem, &ts) : sem_wait(&sem);
    printf("%s\n", errname(r == 0 ? 0 : errno));
    return arg;
}

static void
each(int shared, int restart)
{
    struct sigaction sa = { .sa_handler = onsig, .sa_flags = restart ? SA_RESTART : 0 };
    pthread_t th;

    printf("%s, %s, SA_RESTART %d: ", shared ? "shared" : "private", timed ? "timed" : "untimed", restart);
    fflush(stdout);
    sigaction(SIGUSR1, &sa, NULL);
    sem_init(&sem, shared, 0);
    in = 0;
    CHECK(pthread_create(&th, NULL, waits, NULL) == 0);
    while (!in)
        usleep(1000);
    usleep(100000);
    pthread_kill(th, SIGUSR1);
    usleep(100000);
    if (!timed)
        sem_post(&sem);
    pthread_join(th, NULL);
}

static void
notify(union sigval v)
{
    sigset_t set;
    int r;

    (void)v;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    in = 1;
    r = sem_wait(&sem);
    printf("in libc's thread: %s\n", errname(r == 0 ? 0 : errno));
    sem_post(&done);
}

static void
foreign(void)
{
    struct sigaction sa = { .sa_handler = onsig };
    struct sigevent ev = { .sigev_notify = SIGEV_THREAD };
    struct itimerspec its = { .it_value = { 0, 10000000 } };
    sigset_t set;
    timer_t t;

    sem_init(&sem, 1, 0);
    sem_init(&done, 1, 0);
    sigaction(SIGUSR2, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    ev.sigev_notify_function = notify;
    in = 0;
    CHECK(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0 && timer_settime(t, 0, &its, NULL) == 0);
    while (!in)
        usleep(1000);
    usleep(100000);
    kill(getpid(), SIGUSR2);
    while (sem_wait(&done) != 0)
        ;
}

static void *
computes(void *arg)
{
    in = 1;
    while (!stop) { }
    return arg;
}

static void
unqueued(void)
{
    struct rlimit none = { 0, 0 };
    int left = 0;

    CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
    signal(SIGUSR1, onleave);
    for (int i = 0; i < 20; i++) {
        pthread_t th;
        void *ret;

        in = 0;
        CHECK(pthread_create(&th, NULL, computes, NULL) == 0);
        while (!in)
            usleep(100);
        usleep(2000);
        CHECK(pthread_kill(th, SIGUSR1) == 0);
        pthread_join(th, &ret);
        left += ret == (void *)7;
    }
    printf("no queue: %d left by their handler\n", left);
}

int
main(void)
{
    for (timed = 0; timed < 2; timed++)
        for (int i = 0; i < 4; i++)
            each(i / 2, i % 2);
    foreign();
    unqueued();
    return conform_status();
}

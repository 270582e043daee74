/*
 * timer_create with SIGEV_THREAD: the function runs in a thread of its own, which may use mutexes,
 * condition variables, thread-local variables, pipes, sleep and create threads; the main thread waits on a
 * condition variable for it. POSIX timer_create, 2.4.1.
 */
#include "conform.h"
#include <signal.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static __thread int local = 3;
static int calls, wrong, p[2];
static pthread_t mainthread;

static void *
adder(void *arg)
{
    return (void *)((intptr_t)arg + 1);
}

static void
expired(union sigval v)
{
    char c = 'x';

    OK(pthread_mutex_lock(&mutex));
    wrong += v.sival_int != 42 || local != 3 || pthread_equal(pthread_self(), mainthread);
    local++;
    OK(pthread_mutex_unlock(&mutex));
    msleep(1);
    wrong += join(spawn(adder, (void *)1)) != (void *)2;
    CHECK(write(p[1], &c, 1) == 1);
    OK(pthread_mutex_lock(&mutex));
    calls++;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
}

static void *
reader(void *arg)
{
    char c;
    int i;

    (void)arg;
    for (i = 0; i < 5; i++)
        CHECK(read(p[0], &c, 1) == 1);
    return NULL;
}

int
main(void)
{
    struct sigevent se = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 42 };
    struct itimerspec its = { { 0, 0 }, { 0, 2000000 } };
    pthread_t t;
    timer_t tm;
    int i;

    local = 100;
    mainthread = pthread_self();
    CHECK(pipe(p) == 0);
    t = spawn(reader, NULL);
    se.sigev_notify_function = expired;
    CHECK(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0);
    for (i = 1; i <= 5; i++) {
        CHECK(timer_settime(tm, 0, &its, NULL) == 0);
        OK(pthread_mutex_lock(&mutex));
        while (calls < i)
            OK(pthread_cond_wait(&cond, &mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
    join(t);
    CHECK(timer_delete(tm) == 0);
    printf("calls %d, wrong %d, main's %d\n", calls, wrong, local);
    return conform_status();
}

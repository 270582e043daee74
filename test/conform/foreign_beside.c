/*
 * Threads that libc makes itself (SIGEV_THREAD) beside the program's: they hand a turn back and forth on a
 * mutex and condition variable, a semaphore, a pipe and a raw spin with sched_yield, and share a counter under a
 * mutex and a read-write lock.  POSIX timer_create.
 */
#include "conform.h"
#include <sched.h>
#include <semaphore.h>
#include <signal.h>

enum { TURNS = 300, COUNTS = 2000, N = 4 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, cm = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turn, there[2], back[2], spin, counter, rwcounter;
static sem_t sthere, sback, ended;

static void
await(sem_t *s)
{
    while (sem_wait(s) != 0)
        ;
}

static void
taketurn(int mine)
{
    OK(pthread_mutex_lock(&m));
    while (turn % 2 != mine)
        OK(pthread_cond_wait(&c, &m));
    turn++;
    OK(pthread_cond_broadcast(&c));
    OK(pthread_mutex_unlock(&m));
}

static void
count(void)
{
    for (int i = 0; i < COUNTS; i++) {
        OK(pthread_mutex_lock(&cm));
        counter++;
        OK(pthread_mutex_unlock(&cm));
        OK(pthread_rwlock_wrlock(&rw));
        rwcounter++;
        OK(pthread_rwlock_unlock(&rw));
        OK(pthread_rwlock_rdlock(&rw));
        OK(pthread_rwlock_unlock(&rw));
    }
}

static void
foreign(union sigval v)
{
    char b;

    (void)v;
    for (int i = 0; i < TURNS; i++)
        taketurn(1);
    for (int i = 0; i < TURNS; i++) {
        await(&sthere);
        sem_post(&sback);
    }
    for (int i = 0; i < TURNS; i++)
        CHECK(read(there[0], &b, 1) == 1 && write(back[1], &b, 1) == 1);
    for (int i = 0; i < TURNS; i++) {
        while (__atomic_load_n(&spin, __ATOMIC_ACQUIRE) != 2 * i + 1)
            sched_yield();
        __atomic_store_n(&spin, 2 * i + 2, __ATOMIC_RELEASE);
    }
    count();
    sem_post(&ended);
}

static void *
body(void *arg)
{
    char b = 'b';

    for (int i = 0; i < TURNS; i++)
        taketurn(0);
    for (int i = 0; i < TURNS; i++) {
        sem_post(&sthere);
        await(&sback);
    }
    for (int i = 0; i < TURNS; i++)
        CHECK(write(there[1], &b, 1) == 1 && read(back[0], &b, 1) == 1);
    for (int i = 0; i < TURNS; i++) {
        __atomic_store_n(&spin, 2 * i + 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&spin, __ATOMIC_ACQUIRE) != 2 * i + 2)
            sched_yield();
    }
    count();
    return arg;
}

static void *
counts(void *arg)
{
    count();
    return arg;
}

int
main(void)
{
    struct sigevent se = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = foreign };
    struct itimerspec its = { { 0, 0 }, { 0, 1000000 } };
    pthread_t t, u[N];
    timer_t tm;

    CHECK(pipe(there) == 0 && pipe(back) == 0);
    sem_init(&sthere, 0, 0);
    sem_init(&sback, 0, 0);
    sem_init(&ended, 0, 0);
    t = spawn(body, NULL);
    for (int i = 0; i < N; i++)
        u[i] = spawn(counts, NULL);
    CHECK(timer_create(CLOCK_MONOTONIC, &se, &tm) == 0 && timer_settime(tm, 0, &its, NULL) == 0);
    join(t);
    await(&ended);
    for (int i = 0; i < N; i++)
        join(u[i]);
    printf("turns %d, counters %d %d\n", turn, counter, rwcounter);
    CHECK(timer_delete(tm) == 0);
    return conform_status();
}

/*
 * A thread that is being cancelled is not cancelled once more: its cleanup handlers and the destructors of its
 * keys may sleep, read, wait for semaphores and compute for long, whether it was cancelled at a point or
 * asynchronously, and again meanwhile.  POSIX 2.9.5.3, 2.9.5.4.
 */
#include "conform.h"
#include <sched.h>
#include <semaphore.h>

static int fd[2], in, runs, destroyed, stop;
static sem_t sem;
static pthread_key_t key;
static volatile unsigned long spins;

static void
cleanup(void *arg)
{
    struct timespec ts = { 0, 20000000 };
    volatile long x = 0;
    char c;

    runs++;
    __atomic_store_n(&in, 1, __ATOMIC_RELEASE);
    SYS(nanosleep(&ts, NULL));
    SYS(read(fd[0], &c, 1));
    SYS(sem_wait(&sem));
    for (int64_t until = now_ns(CLOCK_MONOTONIC) + 60000000; now_ns(CLOCK_MONOTONIC) < until;)
        for (int i = 0; i < 10000; i++)
            x++;
    SYS(usleep(1000));
    printf("%s: handler done\n", (char *)arg);
}

static void
destroy(void *arg)
{
    SYS(usleep(2000));
    destroyed++;
    (void)arg;
}

static void *
deferred(void *arg)
{
    OK(pthread_setspecific(key, ""));
    pthread_cleanup_push(cleanup, arg);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *
asynchronous(void *arg)
{
    OK(pthread_setspecific(key, ""));
    pthread_cleanup_push(cleanup, arg);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        spins++;
    pthread_cleanup_pop(0);
    return NULL;
}

static void *
computer(void *arg)
{
    volatile unsigned long x = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        x++;
    return arg;
}

static void
test(void *(*fn)(void *), const char *name)
{
    pthread_t t = spawn(fn, (void *)(uintptr_t)name);

    msleep(10);
    while (fn == asynchronous && spins == 0)
        sched_yield();
    OK(pthread_cancel(t));
    while (!__atomic_load_n(&in, __ATOMIC_ACQUIRE))
        msleep(1);
    OK(pthread_cancel(t));
    msleep(40);
    CHECK(write(fd[1], "x", 1) == 1);
    msleep(10);
    OK(pthread_cancel(t));
    sem_post(&sem);
    printf("%s: canceled %d, ", name, join(t) == PTHREAD_CANCELED);
    printf("handlers %d, destructors %d\n", runs, destroyed);
    in = 0;
}

int
main(void)
{
    pthread_t c;

    CHECK(pipe(fd) == 0);
    sem_init(&sem, 0, 0);
    OK(pthread_key_create(&key, destroy));
    c = spawn(computer, NULL);
    test(deferred, "deferred");
    test(asynchronous, "asynchronous");
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(c);
    return conform_status();
}

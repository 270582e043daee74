/*
 * A process timer of 200 us with an SA_RESTART handler that posts a semaphore, beside threads that lock,
 * allocate, create threads and sleep: all end, no call fails.  setitimer(2), signal(7).
 */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

static int stop, bad;
static sem_t ticks;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void
handler(int sig)
{
    int e = errno;

    (void)sig;
    sem_post(&ticks);
    errno = e;
}

static void *
nothing(void *arg)
{
    return arg;
}

static void *
creator(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        if (join(spawn(nothing, arg)) != arg)
            bad++;
    return NULL;
}

static void *
locker(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&mutex);
        free(malloc(99));
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int
main(void)
{
    struct itimerval it = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
    struct sigaction sa;
    pthread_t t[4];
    int i;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sa.sa_flags = SA_RESTART;
    sem_init(&ticks, 0, 0);
    CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
    for (i = 0; i < 4; i++)
        t[i] = spawn(i % 2 ? locker : creator, (void *)(intptr_t)i);
    CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
    for (i = 0; i < 20; i++) {
        while (sem_wait(&ticks) < 0)
            bad++;
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 4; i++)
        join(t[i]);
    printf("bad %d\n", bad);
    return conform_status();
}

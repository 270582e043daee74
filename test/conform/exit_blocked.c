/*
 * The process ends when main returns, whatever its threads wait for: endless and very long sleeps, pipes,
 * sockets, locks, semaphores, poll, another thread; atexit handlers run and buffered output is written.
 * POSIX exit, main.
 * conform: exits 3
 */
#include "conform.h"
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { N = 14 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_t first;
static sem_t sem;
static int started, p[2], s[2];

static void *
blocked(void *arg)
{
    const struct timespec ages = { LONG_MAX / 2, 0 }, longest = { LONG_MAX, 999999999 };
    pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
    struct epoll_event ev;
    struct pollfd pfd = { p[0], POLLIN, 0 };
    sigset_t set;
    char c;
    int r = 0;

    __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    switch ((intptr_t)arg) {
    case 0: r = nanosleep(&ages, NULL); break;
    case 1: r = nanosleep(&longest, NULL); break;
    case 2: r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &longest, NULL); break;
    case 3: r = (int)sleep(UINT_MAX); break;
    case 4: r = (int)read(p[0], &c, 1); break;
    case 5: r = (int)recv(s[0], &c, 1, 0); break;
    case 6: r = pthread_mutex_lock(&mutex); break;
    case 7: pthread_mutex_lock(&mine); r = pthread_cond_wait(&cond, &mine); break;
    case 8: r = sem_wait(&sem); break;
    case 9: r = poll(&pfd, 1, -1); break;
    case 10: r = poll(NULL, 0, INT_MAX); break;
    case 11: r = pthread_join(first, NULL); break;
    case 12: r = epoll_wait(epoll_create1(0), &ev, 1, -1); break;
    case 13:
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        r = sigwaitinfo(&set, NULL);
        break;
    }
    printf("thread %d went on: %d %s\n", (int)(intptr_t)arg, r, errname(errno));
    return NULL;
}

static void
atend(void)
{
    printf("atexit\n");
}

int
main(void)
{
    int i;

    atexit(atend);
    CHECK(pipe(p) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    sem_init(&sem, 0, 0);
    OK(pthread_mutex_lock(&mutex));
    for (i = 0; i < N; i++) {
        pthread_t t = spawn(blocked, (void *)(intptr_t)i);

        if (i == 0)
            first = t;
    }
    while (__atomic_load_n(&started, __ATOMIC_RELAXED) < N)
        msleep(1);
    msleep(20);
    printf("main returns\n");
    return conform_status() ? 1 : 3;
}

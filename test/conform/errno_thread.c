/*
 * errno is each thread's own, at one address for its whole life, and keeps its value across blocking calls
 * that succeed and across yields while other threads fail all the time.  POSIX errno; C11 7.5.
 */
#include "conform.h"
#include <poll.h>
#include <sched.h>

enum { N = 10, ROUNDS = 20 };

static int changed, moved;

static void *
worker(void *arg)
{
    int mine = 1 + (int)(intptr_t)arg, i, fd[2], *where = &errno;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec ts = { 0, 300000 }, until;
    char ch;

    CHECK(pipe(fd) == 0);
    for (i = 0; i < ROUNDS; i++) {
        errno = mine;
        switch (i % 6) {
        case 0: nanosleep(&ts, NULL); break;
        case 1: sched_yield(); break;
        case 2: CHECK(write(fd[1], "x", 1) == 1); CHECK(read(fd[0], &ch, 1) == 1); break;
        case 3: poll(NULL, 0, 1); break;
        case 4:
            until = after_ms(CLOCK_REALTIME, 1);
            pthread_mutex_lock(&m);
            pthread_cond_timedwait(&c, &m, &until);
            pthread_mutex_unlock(&m);
            break;
        case 5: free(malloc(100)); break;
        }
        if (errno != mine)
            __atomic_fetch_add(&changed, 1, __ATOMIC_RELAXED);
        if (where != &errno)
            __atomic_fetch_add(&moved, 1, __ATOMIC_RELAXED);
        CHECK(read(-1, &ch, 1) == -1 && errno == EBADF);
    }
    close(fd[0]);
    close(fd[1]);
    return NULL;
}

static void *
fresh(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)errno;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    errno = E2BIG;
    for (i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    printf("main: %s after joins\n", errname(errno));
    printf("changed %d, moved %d\n", changed, moved);
    printf("errno of a new thread: %s\n", errname((int)(intptr_t)join(spawn(fresh, NULL))));
    return conform_status();
}

/*
 * A condition variable may be destroyed, and its memory unmapped, as soon as all waiters have been
 * woken by a broadcast, even before they have left pthread_cond_wait: destroy waits for them.
 * POSIX pthread_cond_destroy (its example).
 */
#include "conform.h"
#include <sys/mman.h>

#define N 8

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *c;
static int waiting, go, gone;

static void *
body(void *arg)
{
    pthread_mutex_lock(&m);
    waiting++;
    while (!go)
        pthread_cond_wait(c, &m);
    gone++;
    pthread_mutex_unlock(&m);
    return arg;
}

int
main(void)
{
    pthread_t t[N];
    int i, r, bad = 0;

    for (r = 0; r < 100; r++) {
        c = (pthread_cond_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        bad += pthread_cond_init(c, NULL);
        waiting = go = 0;
        for (i = 0; i < N; i++)
            t[i] = spawn(body, NULL);
        for (;;) {
            pthread_mutex_lock(&m);
            if (waiting == N)
                break;
            pthread_mutex_unlock(&m);
            sched_yield();
        }
        go = 1;
        bad += pthread_cond_broadcast(c);
        pthread_mutex_unlock(&m);
        bad += pthread_cond_destroy(c);
        munmap(c, 4096);
        for (i = 0; i < N; i++)
            join(t[i]);
    }
    printf("woken %d, errors %d\n", gone, bad);
    return conform_status();
}

/*
 * A barrier: EINVAL for a count of zero, a count of one never waits, and the serial thread may destroy the
 * barrier and unmap it at once: destroy waits for those still leaving.  POSIX
 * pthread_barrier_destroy.
 */
#include "conform.h"
#include <sys/mman.h>

#define N 6

static pthread_barrier_t *b;
static int serials;

static void *
body(void *arg)
{
    pthread_barrier_t *mine = b;

    if (pthread_barrier_wait(mine) == PTHREAD_BARRIER_SERIAL_THREAD) {
        __atomic_add_fetch(&serials, 1, __ATOMIC_SEQ_CST);
        pthread_barrier_destroy(mine);
        munmap(mine, 4096);
    }
    return arg;
}

int
main(void)
{
    pthread_barrier_t one;
    pthread_barrierattr_t a;
    pthread_t t[N];
    int i, r, v = -1;

    RC(pthread_barrier_init(&one, NULL, 0));
    RC(pthread_barrierattr_init(&a));
    RC(pthread_barrierattr_getpshared(&a, &v));
    printf("private %d\n", v == PTHREAD_PROCESS_PRIVATE);
    RC(pthread_barrier_init(&one, &a, 1));
    printf("alone: serial %d\n", pthread_barrier_wait(&one) == PTHREAD_BARRIER_SERIAL_THREAD);
    printf("again: serial %d\n", pthread_barrier_wait(&one) == PTHREAD_BARRIER_SERIAL_THREAD);
    RC(pthread_barrier_destroy(&one));
    for (r = 0; r < 100; r++) {
        b = (pthread_barrier_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        OK(pthread_barrier_init(b, NULL, N));
        for (i = 0; i < N; i++)
            t[i] = spawn(body, NULL);
        for (i = 0; i < N; i++)
            join(t[i]);
    }
    printf("serial %d\n", serials);
    return conform_status();
}

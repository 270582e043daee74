/* For gdb.sh: eight threads wait and three compute, so many rounds or, without a number, until standard input ends;
 * then all come by visited(), one after the other. Exit status 3. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { Waiters = 8, Spinners = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, done, seen;
static atomic_bool stop;

__attribute__((noinline)) void
visited(void)
{
    seen++;
}

__attribute__((noinline)) static void *
waiter(void *unused)
{
    pthread_mutex_lock(&mutex);
    waiting++;
    while (!done)
        pthread_cond_wait(&cond, &mutex);
    visited();
    pthread_mutex_unlock(&mutex);
    return unused;
}

__attribute__((noinline)) static void *
spinner(void *n)
{
    volatile unsigned long sum = 0;

    for (unsigned long i = 0; !stop && i < (unsigned long)n; i++)
        sum += i;
    pthread_mutex_lock(&mutex);
    visited();
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int
main(int argc, char **argv)
{
    pthread_t t[Waiters + Spinners];
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : ~0ul;
    int all = 0;

    for (int i = 0; i < Waiters + Spinners; i++)
        if (pthread_create(&t[i], NULL, i < Waiters ? waiter : spinner, (void *)n) != 0)
            return 1;
    while (!all) {
        usleep(1000);
        pthread_mutex_lock(&mutex);
        all = waiting == Waiters;
        pthread_mutex_unlock(&mutex);
    }
    puts("waiting");
    fflush(stdout);
    if (argc <= 1) {
        while (getchar() != EOF)
            ;
        stop = 1;
    }
    for (int i = Waiters; i < Waiters + Spinners; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < Waiters; i++)
        pthread_join(t[i], NULL);
    printf("seen %d\n", seen);
    return 3;
}

/*
 * Each pthread_cond_signal lets at least one waiter go on, and each token goes to one of them: 50 tokens for 50
 * waiters, handed out one at a time.  A signal without waiters is not remembered.  POSIX pthread_cond_signal.
 */
#include "conform.h"

#define N 50

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
static int tokens, taken;

static void *
body(void *arg)
{
    pthread_mutex_lock(&m);
    while (tokens == 0)
        pthread_cond_wait(&c, &m);
    tokens--;
    taken++;
    pthread_cond_signal(&back);
    pthread_mutex_unlock(&m);
    return arg;
}

int
main(void)
{
    struct timespec ts;
    pthread_t t[N];
    int i;

    RC(pthread_cond_signal(&c));
    RC(pthread_cond_broadcast(&c));
    ts = after_ms(CLOCK_REALTIME, 5);
    pthread_mutex_lock(&m);
    while (!reached(CLOCK_REALTIME, &ts))
        pthread_cond_timedwait(&c, &m, &ts);
    pthread_mutex_unlock(&m);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < N; i++) {
        pthread_mutex_lock(&m);
        tokens++;
        pthread_cond_signal(&c);
        while (taken <= i)
            pthread_cond_wait(&back, &m);
        pthread_mutex_unlock(&m);
    }
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("taken %d, tokens %d\n", taken, tokens);
    return conform_status();
}

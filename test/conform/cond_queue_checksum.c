/*
 * A bounded queue between 20 producers and 20 consumers: every item arrives exactly once, whatever the
 * order.  POSIX pthread_cond_wait.
 */
#include "conform.h"

#define PAIRS 20
#define ITEMS 1000
#define SIZE 7

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nonempty = PTHREAD_COND_INITIALIZER, nonfull = PTHREAD_COND_INITIALIZER;
static long queue[SIZE];
static unsigned head, tail;
static unsigned char seen[PAIRS * ITEMS];

static void *
produce(void *arg)
{
    long base = (long)(intptr_t)arg * ITEMS, i;

    for (i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (tail - head == SIZE)
            pthread_cond_wait(&nonfull, &m);
        queue[tail++ % SIZE] = base + i;
        pthread_cond_signal(&nonempty);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *
consume(void *arg)
{
    long sum = 0, v, i;

    (void)arg;
    for (i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (tail == head)
            pthread_cond_wait(&nonempty, &m);
        v = queue[head++ % SIZE];
        seen[v]++;
        pthread_cond_signal(&nonfull);
        pthread_mutex_unlock(&m);
        sum += v;
    }
    return (void *)sum;
}

int
main(void)
{
    pthread_t p[PAIRS], c[PAIRS];
    long sum = 0, odd = 0;
    int i;

    for (i = 0; i < PAIRS; i++) {
        c[i] = spawn(consume, NULL);
        p[i] = spawn(produce, (void *)(intptr_t)i);
    }
    for (i = 0; i < PAIRS; i++) {
        join(p[i]);
        sum += (long)(intptr_t)join(c[i]);
    }
    for (i = 0; i < PAIRS * ITEMS; i++)
        odd += seen[i] != 1;
    printf("sum %ld, items not seen exactly once %ld\n", sum, odd);
    return conform_status();
}

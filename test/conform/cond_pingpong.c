/*
 * Two threads take turns 5,000 times by two condition variables; a third pair takes turns by timedwait with
 * deadlines too far away to matter.  POSIX pthread_cond_signal.
 */
#include "conform.h"

#define ROUNDS 5000

struct table {
    pthread_mutex_t m;
    pthread_cond_t c[2];
    int turn, timed;
    long moves;
};

struct side {
    struct table *t;
    int me;
};

static void *
body(void *arg)
{
    struct side *s = (struct side *)arg;
    struct table *t = s->t;
    struct timespec far = after_ms(CLOCK_REALTIME, 100000);
    int i;

    for (i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&t->m);
        while (t->turn != s->me)
            if (t->timed)
                OK(pthread_cond_timedwait(&t->c[s->me], &t->m, &far));
            else
                OK(pthread_cond_wait(&t->c[s->me], &t->m));
        t->turn = !s->me;
        t->moves++;
        pthread_cond_signal(&t->c[!s->me]);
        pthread_mutex_unlock(&t->m);
    }
    return NULL;
}

int
main(void)
{
    static struct table t[2];
    struct side s[4];
    pthread_t th[4];
    int i;

    for (i = 0; i < 2; i++) {
        OK(pthread_mutex_init(&t[i].m, NULL));
        OK(pthread_cond_init(&t[i].c[0], NULL));
        OK(pthread_cond_init(&t[i].c[1], NULL));
        t[i].timed = i;
    }
    for (i = 0; i < 4; i++) {
        s[i].t = &t[i / 2];
        s[i].me = i % 2;
        th[i] = spawn(body, &s[i]);
    }
    for (i = 0; i < 4; i++)
        join(th[i]);
    printf("moves %ld and %ld\n", t[0].moves, t[1].moves);
    return conform_status();
}

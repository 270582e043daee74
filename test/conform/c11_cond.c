/*
 * C11 condition variables: signal, broadcast, timedwait with thrd_timedout, never early.
 * ISO C11 7.26.3.
 */
#include "conform.h"
#include <threads.h>

static mtx_t m;
static cnd_t c, back;
static int tokens, taken, go;

static int
takes(void *arg)
{
    (void)arg;
    mtx_lock(&m);
    while (tokens == 0)
        cnd_wait(&c, &m);
    tokens--;
    taken++;
    cnd_signal(&back);
    while (!go)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
    return 1;
}

int
main(void)
{
    struct timespec ts;
    thrd_t t[10];
    int i, r, sum = 0, e;

    CHECK(mtx_init(&m, mtx_plain) == thrd_success);
    CHECK(cnd_init(&c) == thrd_success);
    CHECK(cnd_init(&back) == thrd_success);
    ts = after_ms(CLOCK_REALTIME, 20);
    mtx_lock(&m);
    while ((e = cnd_timedwait(&c, &m, &ts)) == thrd_success)
        ;
    mtx_unlock(&m);
    CHECK(reached(CLOCK_REALTIME, &ts));
    printf("timedout %d\n", e == thrd_timedout);
    for (i = 0; i < 10; i++)
        CHECK(thrd_create(&t[i], takes, NULL) == thrd_success);
    mtx_lock(&m);
    for (i = 0; i < 10; i++) {
        tokens++;
        cnd_broadcast(&c);
        while (taken <= i)
            cnd_wait(&back, &m);
    }
    go = 1;
    cnd_broadcast(&c);
    mtx_unlock(&m);
    for (i = 0; i < 10; i++) {
        CHECK(thrd_join(t[i], &r) == thrd_success);
        sum += r;
    }
    printf("taken %d, joined %d\n", taken, sum);
    cnd_destroy(&c);
    cnd_destroy(&back);
    mtx_destroy(&m);
    return conform_status();
}

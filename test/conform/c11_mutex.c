/*
 * C11 mutexes: plain, recursive and timed; thrd_busy, thrd_timedout (never early), thrd_error for a type that
 * does not exist; exclusion.  ISO C11 7.26.4.
 */
#include "conform.h"
#include <threads.h>

static mtx_t plain, rec, timed;
static long count;

static const char *
name(int r)
{
    return r == thrd_success ? "success" : r == thrd_busy ? "busy" : r == thrd_timedout ? "timedout"
         : r == thrd_error ? "error" : r == thrd_nomem ? "nomem" : "?";
}

#define R(call) printf("%s: %s\n", #call, name(call))

static int
elsewhere(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20);

    (void)arg;
    R(mtx_trylock(&plain));
    R(mtx_trylock(&rec));
    R(mtx_trylock(&timed));
    R(mtx_timedlock(&timed, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    return 0;
}

static int
adds(void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < 2000; i++) {
        mtx_lock(&plain);
        count++;
        mtx_unlock(&plain);
    }
    return 0;
}

int
main(void)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 60000);
    thrd_t t[8];
    int i;

    R(mtx_init(&plain, mtx_plain));
    R(mtx_init(&rec, mtx_plain | mtx_recursive));
    R(mtx_init(&timed, mtx_timed));
    R(mtx_init(&timed, 77));
    R(mtx_lock(&plain));
    R(mtx_lock(&rec));
    R(mtx_lock(&rec));
    R(mtx_trylock(&rec));
    R(mtx_timedlock(&timed, &ts));
    CHECK(thrd_create(&t[0], elsewhere, NULL) == thrd_success);
    CHECK(thrd_join(t[0], NULL) == thrd_success);
    R(mtx_unlock(&plain));
    R(mtx_unlock(&rec));
    R(mtx_unlock(&rec));
    R(mtx_unlock(&rec));
    R(mtx_unlock(&timed));
    for (i = 0; i < 8; i++)
        CHECK(thrd_create(&t[i], adds, NULL) == thrd_success);
    for (i = 0; i < 8; i++)
        CHECK(thrd_join(t[i], NULL) == thrd_success);
    printf("count %ld\n", count);
    mtx_destroy(&plain);
    mtx_destroy(&rec);
    mtx_destroy(&timed);
    return conform_status();
}

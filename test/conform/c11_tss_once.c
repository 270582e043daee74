/*
 * C11 thread-specific storage with destructors at return and thrd_exit, in rounds up to
 * TSS_DTOR_ITERATIONS; call_once among racers.  ISO C11 7.26.2, 7.26.6.
 */
#include "conform.h"
#include <threads.h>

static tss_t key, stubborn;
static once_flag once = ONCE_FLAG_INIT;
static int destroyed, rounds, calls;

static void
counts(void *v)
{
    __atomic_add_fetch(&destroyed, *(int *)v, __ATOMIC_RELAXED);
}

static void
again(void *v)
{
    rounds++;
    tss_set(stubborn, v);
}

static void
init(void)
{
    msleep(2);
    calls++;
}

static int
body(void *arg)
{
    call_once(&once, init);
    CHECK(calls == 1);
    CHECK(tss_get(key) == NULL);
    CHECK(tss_set(key, arg) == thrd_success);
    msleep(1);
    CHECK(tss_get(key) == arg);
    if (*(int *)arg % 2)
        thrd_exit(1);
    return 0;
}

static int
stays(void *arg)
{
    tss_set(stubborn, arg);
    return 0;
}

int
main(void)
{
    thrd_t t[20];
    int v[20], i;

    CHECK(tss_create(&key, counts) == thrd_success);
    CHECK(tss_create(&stubborn, again) == thrd_success);
    for (i = 0; i < 20; i++) {
        v[i] = i + 1;
        CHECK(thrd_create(&t[i], body, &v[i]) == thrd_success);
    }
    for (i = 0; i < 20; i++)
        CHECK(thrd_join(t[i], NULL) == thrd_success);
    CHECK(thrd_create(&t[0], stays, v) == thrd_success);
    CHECK(thrd_join(t[0], NULL) == thrd_success);
    printf("sum destroyed %d, once %d, rounds %d of %d\n", destroyed, calls, rounds, TSS_DTOR_ITERATIONS);
    tss_delete(key);
    printf("after delete: %d\n", tss_set(key, v) == thrd_success);
    return conform_status();
}

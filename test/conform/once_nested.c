/*
 * A once routine that calls pthread_once on another control, starts a thread and waits for it;
 * many racers on both controls.  POSIX pthread_once.
 */
#include "conform.h"

static pthread_once_t outer_once = PTHREAD_ONCE_INIT, inner_once = PTHREAD_ONCE_INIT;
static int outer_calls, inner_calls;

static void
inner(void)
{
    msleep(5);
    inner_calls++;
}

static void *
helper(void *arg)
{
    pthread_once(&inner_once, inner);
    return arg;
}

static void
outer(void)
{
    pthread_once(&inner_once, inner);
    join(spawn(helper, NULL));
    outer_calls++;
}

static void *
body(void *arg)
{
    start_wait();
    pthread_once((intptr_t)arg % 2 ? &inner_once : &outer_once, (intptr_t)arg % 2 ? inner : outer);
    pthread_once(&outer_once, outer);
    return (void *)(intptr_t)(outer_calls == 1 && inner_calls == 1);
}

int
main(void)
{
    pthread_t t[32];
    intptr_t i, good = 0;

    start_init(32);
    for (i = 0; i < 32; i++)
        t[i] = spawn(body, (void *)i);
    for (i = 0; i < 32; i++)
        good += (intptr_t)join(t[i]);
    printf("outer %d, inner %d, threads that saw both complete %ld\n", outer_calls, inner_calls, (long)good);
    return conform_status();
}

/*
 * pthread_self is what pthread_create stored, differs among threads that are alive, and does not
 * change over blocking.  POSIX pthread_self, pthread_equal.
 */
#include "conform.h"

#define N 100

static pthread_t handle[N], self[N];

static void *
body(void *arg)
{
    intptr_t i = (intptr_t)arg, bad = 0;
    int k;

    self[i] = pthread_self();
    start_wait();
    for (k = 0; k < 10; k++) {
        sched_yield();
        msleep(k % 2);
        bad += !pthread_equal(self[i], pthread_self());
    }
    start_wait();
    return (void *)bad;
}

int
main(void)
{
    int i, j, same = 0, differs = 0;
    intptr_t changed = 0;
    pthread_t me = pthread_self();

    start_init(N);
    for (i = 0; i < N; i++)
        OK(pthread_create(&handle[i], NULL, body, (void *)(intptr_t)i));
    for (i = 0; i < N; i++)
        changed += (intptr_t)join(handle[i]);
    for (i = 0; i < N; i++) {
        differs += !pthread_equal(handle[i], self[i]);
        same += pthread_equal(self[i], me) != 0;
        for (j = 0; j < i; j++)
            same += pthread_equal(self[i], self[j]) != 0;
    }
    printf("handle differs from self: %d, two alike: %d, changed: %ld\n", differs, same, (long)changed);
    printf("main's is unchanged: %d\n", pthread_equal(me, pthread_self()) != 0);
    return conform_status();
}

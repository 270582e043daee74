/*
 * 1,000 threads sleep at once to one deadline: all wake, none before it.  POSIX clock_nanosleep.
 */
#include "conform.h"

enum { N = 1000 };

static struct timespec deadline;
static int woken, early;

static void *
sleeper(void *arg)
{
    (void)arg;
    OK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL));
    if (!reached(CLOCK_MONOTONIC, &deadline))
        __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    static pthread_t t[N];
    pthread_attr_t attr;
    int i;

    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 65536));
    deadline = after_ms(CLOCK_MONOTONIC, 300);
    for (i = 0; i < N; i++)
        OK(pthread_create(&t[i], &attr, sleeper, NULL));
    for (i = 0; i < N; i++)
        OK(pthread_join(t[i], NULL));
    printf("woken %d, early %d\n", woken, early);
    return conform_status();
}

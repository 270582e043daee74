/*
 * sem_timedwait and sem_clockwait: ETIMEDOUT and never early, 0 at once when the value is positive even
 * with a time past, EINVAL for nanoseconds out of range when it would wait, 0 when posted in time.
 * POSIX sem_timedwait.
 */
#include "conform.h"
#include <semaphore.h>

static sem_t s;

static void *
body(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20), bad = ts;

    SYS(sem_timedwait(&s, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    ts = after_ms(CLOCK_REALTIME, -5000);
    SYS(sem_timedwait(&s, &ts));
    SYS(sem_post(&s));
    SYS(sem_timedwait(&s, &ts));
    bad.tv_nsec = 1000000000;
    SYS(sem_timedwait(&s, &bad));
#if __GLIBC_PREREQ(2, 30)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    SYS(sem_clockwait(&s, CLOCK_MONOTONIC, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
    SYS(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &ts));
#endif
    start_wait();
    ts = after_ms(CLOCK_REALTIME, 60000);
    SYS(sem_timedwait(&s, &ts));
    return arg;
}

int
main(void)
{
    pthread_t t;

    sem_init(&s, 0, 0);
    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    msleep(10);
    sem_post(&s);
    join(t);
    return conform_status();
}

/*
 * Timed reader and writer locks: ETIMEDOUT and never early, 0 for a free lock with a time past, EINVAL
 * for nanoseconds out of range; after a writer has timed out, readers get in again.
 * POSIX pthread_rwlock_timedrdlock, glibc clockrdlock.
 */
#include "conform.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *
as_reader(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20), bad = ts;

    RC(pthread_rwlock_timedrdlock(&l, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
    bad.tv_nsec = 1000000000;
    RC(pthread_rwlock_timedrdlock(&l, &bad));
    RC(pthread_rwlock_timedwrlock(&l, &bad));
#if __GLIBC_PREREQ(2, 30)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    RC(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
    RC(pthread_rwlock_clockrdlock(&l, CLOCK_PROCESS_CPUTIME_ID, &ts));
#endif
    return arg;
}

static void *
as_writer(void *arg)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 20);

    RC(pthread_rwlock_timedwrlock(&l, &ts));
    CHECK(reached(CLOCK_REALTIME, &ts));
#if __GLIBC_PREREQ(2, 30)
    ts = after_ms(CLOCK_MONOTONIC, 20);
    RC(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &ts));
#endif
    RC(pthread_rwlock_tryrdlock(&l));
    RC(pthread_rwlock_unlock(&l));
    return arg;
}

int
main(void)
{
    struct timespec past = after_ms(CLOCK_REALTIME, -5000);

    RC(pthread_rwlock_timedwrlock(&l, &past));
    join(spawn(as_reader, NULL));
    RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_timedrdlock(&l, &past));
    join(spawn(as_writer, NULL));
    RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_trywrlock(&l));
    RC(pthread_rwlock_unlock(&l));
    return conform_status();
}

/* What a timespec means, and sleeping on a foreign thread. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <limits.h>

static int
when(clockid_t clock, time_t sec, long nsec, int64_t *out)
{
    struct timespec ts = { sec, nsec };

    return deadline(clock, &ts, out);
}

Test(deadline, monotonic)
{
    int64_t at = 0;

    cr_expect_eq(when(CLOCK_MONOTONIC, 5, 7, &at), 0);
    cr_expect_eq(at, 5000000007);
    cr_expect_eq(when(CLOCK_MONOTONIC, 0, 0, &at), 0);
    cr_expect_eq(at, 1, "0 would be for ever");
    cr_expect_eq(when(CLOCK_MONOTONIC, LONG_MAX, 999999999, &at), 0);
    cr_expect_gt(at, INT64_MAX / 4);
}

Test(deadline, realtime)
{
    int64_t at = 0, off;

    off = clocknow(CLOCK_REALTIME) - nanotime();
    cr_expect_eq(when(CLOCK_REALTIME, off / 1000000000 + 1000, 0, &at), 0);
    cr_expect(at > 990 * INT64_C(1000000000) && at < 1010 * INT64_C(1000000000));
    cr_expect_eq(when(CLOCK_REALTIME, 1, 0, &at), 0);
    cr_expect_eq(at, 1, "long past");
    cr_expect_eq(when(CLOCK_REALTIME, LONG_MAX, 0, &at), 0);
    cr_expect_gt(at, nanotime());
}

Test(deadline, errors)
{
    int64_t at;

    cr_expect_eq(when(CLOCK_MONOTONIC, 1, -1, &at), -EINVAL);
    cr_expect_eq(when(CLOCK_MONOTONIC, 1, 1000000000, &at), -EINVAL);
    cr_expect_eq(when(CLOCK_PROCESS_CPUTIME_ID, 1, 0, &at), -EINVAL);
    cr_expect_eq(when(CLOCK_REALTIME, -1, 0, &at), -ETIMEDOUT);
    cr_expect_eq(when(CLOCK_REALTIME, -1, -1, &at), -EINVAL);
}

Test(sleep, foreign)
{
    struct timespec ts = { 0, 10 * MS }, bad = { 0, -1 };
    int64_t start = nanotime();

    cr_expect_eq(sleep_for(&ts, NULL), 0);
    cr_expect_geq(nanotime() - start, 10 * MS);
    cr_expect_eq(sleep_for(&bad, NULL), -EINVAL);
    start = nanotime();
    ts = ts_of(start + 10 * MS);
    cr_expect_eq(sleep_clock(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL), 0);
    cr_expect_geq(nanotime() - start, 10 * MS);
    cr_expect_eq(sleep_clock(CLOCK_THREAD_CPUTIME_ID, 0, &ts, NULL), -EINVAL);
}

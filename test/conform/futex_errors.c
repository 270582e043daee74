/*
 * What futex refuses and how waits end: EAGAIN for a changed value, ETIMEDOUT (never early), EINVAL for bad
 * nanoseconds and odd addresses, EFAULT, ENOSYS; private and shared waiters alike, in main and in a thread.
 * futex(2).
 */
#include "conform.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t word[2];

static long
futex(void *p, int op, uint32_t val, const struct timespec *ts)
{
    return syscall(SYS_futex, p, op, val, ts, NULL, 0);
}

static void *
body(void *arg)
{
    struct timespec ts = { 0, 20000000 }, bad = { 0, 1000000000 }, negative = { -1, 0 }, zero = { 0, 0 }, end;

    SYS(futex(word, FUTEX_WAIT_PRIVATE, 1, NULL));
    SYS(futex(word, FUTEX_WAIT, 1, NULL));
    end = after_ms(CLOCK_MONOTONIC, 20);
    SYS(futex(word, FUTEX_WAIT_PRIVATE, 0, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &end));
    end = after_ms(CLOCK_MONOTONIC, 20);
    SYS(futex(word, FUTEX_WAIT, 0, &ts));
    CHECK(reached(CLOCK_MONOTONIC, &end));
    SYS(futex(word, FUTEX_WAIT_PRIVATE, 0, &zero));
    SYS(futex(word, FUTEX_WAIT_PRIVATE, 0, &bad));
    SYS(futex(word, FUTEX_WAIT_PRIVATE, 0, &negative));
    SYS(futex((char *)word + 2, FUTEX_WAIT_PRIVATE, 0, NULL));
    SYS(futex((char *)word + 2, FUTEX_WAKE_PRIVATE, 1, NULL));
    SYS(futex(NULL, FUTEX_WAIT_PRIVATE, 0, NULL));
    SYS(futex(word, FUTEX_WAKE_PRIVATE, 1, NULL));
    SYS(futex(word, FUTEX_WAKE, 1, NULL));
    SYS(futex(word, 100, 1, NULL));
    return arg;
}

int
main(void)
{
    body(NULL);
    join(spawn(body, NULL));
    body(NULL);
    return conform_status();
}

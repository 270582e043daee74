/*
 * What select and pselect answer: timeout with cleared sets, readable and writable sets, no descriptors as a
 * sleep, EBADF, EINVAL; select writes the time left, pselect does not.  POSIX select; Linux select(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/select.h>

static void *
body(void *arg)
{
    struct timeval tv = { 0, 20000 }, badtv = { 0, -1 };
    struct timespec ts = { 0, 20000000 }, until, badts = { -1, 0 };
    fd_set r, w;
    int a[2], b[2], n;

    (void)arg;
    CHECK(pipe(a) == 0);
    CHECK(pipe(b) == 0);
    CHECK(write(b[1], "x", 1) == 1);

    FD_ZERO(&r);
    FD_SET(a[0], &r);
    until = after_ms(CLOCK_MONOTONIC, 20);
    n = select(a[0] + 1, &r, NULL, NULL, &tv);
    printf("timeout: %d, set %d, left %ld.%06ld, %s\n", n, FD_ISSET(a[0], &r), (long)tv.tv_sec, (long)tv.tv_usec,
           reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");

    FD_SET(a[0], &r);
    until = after_ms(CLOCK_MONOTONIC, 20);
    n = pselect(a[0] + 1, &r, NULL, NULL, &ts, NULL);
    printf("pselect timeout: %d, set %d, time %ld.%09ld, %s\n", n, FD_ISSET(a[0], &r), (long)ts.tv_sec, ts.tv_nsec,
           reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");

    FD_ZERO(&w);
    FD_SET(a[0], &r);
    FD_SET(b[0], &r);
    FD_SET(a[1], &w);
    FD_SET(b[1], &w);
    tv.tv_sec = 30;
    n = select(b[1] + 1, &r, &w, NULL, &tv);
    printf("ready: %d, read %d %d, write %d %d, left %s\n", n, FD_ISSET(a[0], &r), FD_ISSET(b[0], &r),
           FD_ISSET(a[1], &w), FD_ISSET(b[1], &w), tv.tv_sec > 0 ? "some" : "none");

    tv = (struct timeval){ 0, 10000 };
    until = after_ms(CLOCK_MONOTONIC, 10);
    SYS(select(0, NULL, NULL, NULL, &tv));
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    tv = (struct timeval){ 0, 0 };
    FD_ZERO(&r);
    FD_SET(a[0], &r);
    SYS(select(a[0] + 1, &r, NULL, NULL, &tv));

    close(a[0]);
    FD_ZERO(&r);
    FD_SET(a[0], &r);
    SYS(select(a[0] + 1, &r, NULL, NULL, NULL));
    SYS(select(-1, NULL, NULL, NULL, &tv));
    SYS(select(0, NULL, NULL, NULL, &badtv));
    SYS(pselect(0, NULL, NULL, NULL, &badts, NULL));
    return NULL;
}

int
main(void)
{
    join(spawn(body, NULL));
    return conform_status();
}

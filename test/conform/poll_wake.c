/*
 * poll, ppoll, select and pselect that wait on several descriptors are woken by another thread's write to
 * one of them; eight threads that poll one descriptor all see it ready.  POSIX poll, select.
 */
#include "conform.h"
#include <poll.h>
#include <sys/select.h>

enum { FDS = 5, WAITERS = 8 };

static int fd[FDS][2], all[2], seen;

static void *
writer(void *arg)
{
    int i = (int)(intptr_t)arg;

    msleep(20);
    CHECK(write(fd[i][1], "x", 1) == 1);
    return NULL;
}

/* Waits with the given call; says which descriptors are ready. */
static void
wait1(int how)
{
    static const char *const name[] = { "poll", "ppoll", "select", "pselect" };
    struct timespec ts = { 30, 0 };
    struct timeval tv = { 30, 0 };
    struct pollfd p[FDS];
    fd_set r;
    char c;
    int i, n, max = 0;

    FD_ZERO(&r);
    for (i = 0; i < FDS; i++) {
        p[i] = (struct pollfd){ fd[i][0], POLLIN, 0 };
        FD_SET(fd[i][0], &r);
        max = fd[i][0] > max ? fd[i][0] : max;
    }
    switch (how) {
    case 0: n = poll(p, FDS, -1); break;
    case 1: n = ppoll(p, FDS, &ts, NULL); break;
    case 2: n = select(max + 1, &r, NULL, NULL, &tv); break;
    default: n = pselect(max + 1, &r, NULL, NULL, &ts, NULL); break;
    }
    printf("%s: %d, ready", name[how], n);
    for (i = 0; i < FDS; i++) {
        if (how < 2 ? p[i].revents : FD_ISSET(fd[i][0], &r)) {
            printf(" %d", i);
            CHECK(read(fd[i][0], &c, 1) == 1);
        }
    }
    printf("\n");
}

static void *
waiter(void *arg)
{
    struct pollfd p = { all[0], POLLIN, 0 };

    (void)arg;
    if (poll(&p, 1, -1) == 1 && p.revents == POLLIN)
        __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    pthread_t t[WAITERS];
    int i;

    for (i = 0; i < FDS; i++)
        CHECK(pipe(fd[i]) == 0);
    for (i = 0; i < 4; i++) {
        t[0] = spawn(writer, (void *)(intptr_t)((i * 3 + 1) % FDS));
        wait1(i);
        join(t[0]);
    }
    CHECK(pipe(all) == 0);
    for (i = 0; i < WAITERS; i++)
        t[i] = spawn(waiter, NULL);
    msleep(20);
    CHECK(write(all[1], "x", 1) == 1);
    for (i = 0; i < WAITERS; i++)
        join(t[i]);
    printf("of %d waiters on one descriptor saw it: %d\n", WAITERS, seen);
    return conform_status();
}

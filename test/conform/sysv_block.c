/*
 * System V semaphores and message queues between threads: semop and msgrcv wait while others go on,
 * semtimedop times out with EAGAIN, IPC_NOWAIT answers at once, removal wakes waiters with EIDRM.  POSIX
 * semop, msgrcv.
 */
#include "conform.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

enum { N = 6 };

static int sem, msg, count, removed;

struct message {
    long type;
    int value;
};

static int
op(int by, int flags)
{
    struct sembuf b = { 0, (short)by, (short)flags };

    return semop(sem, &b, 1);
}

static void *
taker(void *arg)
{
    (void)arg;
    CHECK(op(-1, 0) == 0);
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
receiver(void *arg)
{
    struct message m;

    CHECK(msgrcv(msg, &m, sizeof m.value, (intptr_t)arg + 1, 0) == sizeof m.value);
    return (void *)(intptr_t)m.value;
}

static void *
removee(void *arg)
{
    struct message m;
    int r = arg ? (int)msgrcv(msg, &m, sizeof m.value, 99, 0) : op(-1, 0);

    if (r == -1 && (errno == EIDRM || errno == EINVAL))    /* EINVAL: it came too late to wait */
        __atomic_fetch_add(&removed, 1, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    struct sembuf down = { 0, -1, 0 };
    struct timespec ts = { 0, 20000000 }, until;
    struct message m;
    pthread_t t[N];
    int i;

    sem = semget(IPC_PRIVATE, 1, 0600);
    msg = msgget(IPC_PRIVATE, 0600);
    if (sem < 0 || msg < 0)
        SKIP("no System V IPC");
    for (i = 0; i < N; i++)
        t[i] = spawn(taker, NULL);
    msleep(10);
    CHECK(op(N, 0) == 0);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("taken %d\n", count);
    SYS(op(-1, IPC_NOWAIT));
    until = after_ms(CLOCK_MONOTONIC, 20);
    SYS(semtimedop(sem, &down, 1, &ts));
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");

    for (i = 0; i < N; i++)
        t[i] = spawn(receiver, (void *)(intptr_t)i);
    msleep(10);
    for (i = N - 1; i >= 0; i--) {
        m = (struct message){ i + 1, i * 11 };
        CHECK(msgsnd(msg, &m, sizeof m.value, 0) == 0);
    }
    printf("received");
    for (i = 0; i < N; i++)
        printf(" %d", (int)(intptr_t)join(t[i]));
    printf("\n");
    SYS(msgrcv(msg, &m, sizeof m.value, 0, IPC_NOWAIT));

    for (i = 0; i < 4; i++)
        t[i] = spawn(removee, i % 2 ? &sem : NULL);
    msleep(20);
    CHECK(semctl(sem, 0, IPC_RMID) == 0);
    CHECK(msgctl(msg, IPC_RMID, NULL) == 0);
    for (i = 0; i < 4; i++)
        join(t[i]);
    printf("woken by the removal: %d\n", removed);
    return conform_status();
}

/*
 * siglongjmp out of a handler that interrupted a wait: read, recv, poll, sleep, sem_wait, a condition
 * variable, a full pipe.  The thread goes on, with its mask as before, and waits again.  POSIX siglongjmp.
 */
#include "conform.h"
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>

enum { Read, Recv, Poll, Sleep, Sem, Write, Cond, N };
static const char *const names[] = { "read", "recv", "poll", "sleep", "sem_wait", "write", "cond_wait" };

static __thread sigjmp_buf env;
static __thread volatile int armed;
static int fd[2], full[2], sv[2], ready;
static sem_t sem;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void
handler(int sig)
{
    if (armed) {
        armed = 0;
        siglongjmp(env, sig);
    }
}

static void
block(int how)
{
    struct pollfd p = { fd[0], POLLIN, 0 };
    static char big[1 << 20];
    char b;

    switch (how) {
    case Read: CHECK(read(fd[0], &b, 1) == 99); break;
    case Recv: CHECK(recv(sv[0], &b, 1, 0) == 99); break;
    case Poll: CHECK(poll(&p, 1, -1) == 99); break;
    case Sleep: CHECK(sleep(1000) == 99); break;
    case Sem: CHECK(sem_wait(&sem) == 99); break;
    case Write: CHECK(write(full[1], big, sizeof big) == 99); break;
    default:
        pthread_mutex_lock(&m);
        pthread_cond_wait(&c, &m);
    }
}

static void *
body(void *arg)
{
    int how = (int)(intptr_t)arg;
    volatile int jumps = 0;
    sigset_t now;
    int sig;

    while (jumps < 3) {
        sig = sigsetjmp(env, 1);
        if (sig == 0) {
            armed = 1;
            __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
            block(how);
        } else {
            jumps++;
            pthread_sigmask(SIG_BLOCK, NULL, &now);
            CHECK(sig == SIGUSR1 && !sigismember(&now, SIGUSR1));
            if (how == Cond)
                break;          /* who left a condition variable like that must not use it again */
        }
    }
    msleep(2);
    return (void *)(intptr_t)jumps;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t;
    char b;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0 && pipe(fd) == 0 && pipe(full) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
    sem_init(&sem, 0, 0);
    for (intptr_t i = 0; i < N; i++) {
        t = spawn(body, (void *)i);
        for (int k = 0; k < (i == Cond ? 1 : 3); k++) {
            while (!__atomic_exchange_n(&ready, 0, __ATOMIC_ACQUIRE))
                msleep(1);
            msleep(10);
            OK(pthread_kill(t, SIGUSR1));
        }
        printf("%s: %ld jumps\n", names[i], (long)(intptr_t)join(t));
    }
    CHECK(write(fd[1], "x", 1) == 1 && read(fd[0], &b, 1) == 1);
    CHECK(sem_post(&sem) == 0 && sem_wait(&sem) == 0);
    printf("all usable\n");
    return conform_status();
}

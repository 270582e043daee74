/*
 * A periodic SIGALRM with SA_RESTART handled while threads lock, wait and compute: no result changes, errno of the
 * interrupted thread is kept, floating point registers too.  POSIX setitimer, sigaction.
 */
#include "conform.h"
#include <signal.h>
#include <sys/time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ticks;
static volatile double junk;
static long count;
static double sum[8];

static void
handler(int sig)
{
    int saved = errno, i;

    (void)sig;
    ticks++;
    for (i = 0; i < 100; i++)
        junk = junk * 1.5 + i;
    junk = 0;
    errno = ENOTTY;
    errno = saved;
}

static void *
body(void *arg)
{
    intptr_t bad = 0, me = (intptr_t)arg;
    double x = 0;
    int i;

    for (i = 1; i <= 2000 || ticks < 5; i++) {
        errno = (int)me;
        x += 1.0 / (double)(1 + i % 7);
        if (i <= 2000) {
            pthread_mutex_lock(&m);
            count++;
            pthread_mutex_unlock(&m);
        }
        if (i % 64 == 0)
            sched_yield();
        bad += errno != (int)me;
        if (i == 2000)
            sum[me - 1] = x;
    }
    return (void *)bad;
}

int
main(void)
{
    struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
    struct sigaction sa;
    pthread_t t[8];
    intptr_t i, bad = 0;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handler;
    sa.sa_flags = SA_RESTART;
    SYS(sigaction(SIGALRM, &sa, NULL));
    SYS(setitimer(ITIMER_REAL, &it, NULL));
    for (i = 0; i < 8; i++)
        t[i] = spawn(body, (void *)(i + 1));
    for (i = 0; i < 8; i++)
        bad += (intptr_t)join(t[i]);
    for (i = 0; i < 8; i++)
        printf("%.9f\n", sum[i]);
    memset(&it, 0, sizeof it);
    SYS(setitimer(ITIMER_REAL, &it, NULL));
    printf("count %ld, bad %ld, ticks enough %d\n", count, (long)bad, ticks >= 5);
    return conform_status();
}

/*
 * Threads that are nearly always inside libc or the kernel's fast calls - copying, sorting, asking for the time or a file's
 * status, raising an ignored signal, sleeping until a time that is over, selecting without waiting - let others run.
 */
#include "conform.h"
#include <signal.h>
#include <sys/select.h>
#include <sys/stat.h>

enum { Memset, Qsort, Clock, Stat, Raise, Past, Select, N };

static volatile int stop;

static int
compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return x < y ? -1 : x > y;
}

static void *
loop(void *arg)
{
    enum { SIZE = 1 << 21, INTS = 100000 };
    char *big = malloc(SIZE);
    int *ints = malloc(INTS * sizeof *ints);
    struct timespec ts = { 0, 0 };
    struct timeval tv = { 0, 0 };
    struct stat st;

    CHECK(big != NULL && ints != NULL);
    while (!stop)
        switch ((int)(intptr_t)arg) {
        case Memset: memset(big, stop + 1, SIZE); break;
        case Qsort:
            for (int i = 0; i < INTS; i++)
                ints[i] = i * 7919 % 10007;
            qsort(ints, INTS, sizeof *ints, compare);
            break;
        case Clock: clock_gettime(CLOCK_MONOTONIC, &ts); break;
        case Stat: stat("/", &st); break;
        case Raise: raise(SIGUSR1); break;
        case Past:
            ts = (struct timespec){ 0, 0 };
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
            break;
        case Select: select(0, NULL, NULL, NULL, &tv); break;
        }
    free(big);
    free(ints);
    return NULL;
}

int
main(void)
{
    signal(SIGUSR1, SIG_IGN);
    for (intptr_t what = 0; what < N; what++) {
        pthread_t t[2];

        stop = 0;
        for (int i = 0; i < 2; i++)
            t[i] = spawn(loop, (void *)what);
        for (int i = 0; i < 5; i++)
            msleep(1);
        stop = 1;
        join(t[0]);
        join(t[1]);
        printf("%d\n", (int)what);
    }
    return conform_status();
}

/*
 * The rounding mode, the exception flags and the x87 and SSE control words are each thread's own across
 * sleeps, yields and preemption, and a new thread inherits its creator's modes.  C11 7.6; POSIX fesetround.
 */
#include "conform.h"
#include <fenv.h>
#include <sched.h>

enum { N = 8 };

static const int mode[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
static int wrong[3];
static int done;

static const char *
modename(int m)
{
    return m == FE_TONEAREST ? "nearest" : m == FE_UPWARD ? "upward" : m == FE_DOWNWARD ? "downward" : "zero";
}

/* 1/3 and -1/3 in double and long double, to see what the hardware really does. */
static int
direction(void)
{
    volatile double one = 1, three = 3;
    volatile long double lone = 1, lthree = 3;
    double pos = one / three, neg = -one / three;
    long double lpos = lone / lthree, lneg = -lone / lthree;
    int up = pos > 0x1.5555555555555p-2, down = neg < -0x1.5555555555555p-2;
    int lup = lpos > 0xa.aaaaaaaaaaaaaaap-5L, ldown = lneg < -0xa.aaaaaaaaaaaaaaap-5L;

    return up | down << 1 | lup << 2 | ldown << 3;
}

static void *
worker(void *arg)
{
    int id = (int)(intptr_t)arg, i, want, flags = id % 2 ? FE_INEXACT : FE_DIVBYZERO;
    volatile double x;

    fesetround(mode[id % 4]);
    want = direction();
    for (i = 0; i < 20; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(flags);
        if (i % 3 == 0)
            msleep(1);
        else if (i % 3 == 1)
            sched_yield();
        else
            for (x = 0; x < 200000; x += 1)
                ;
        if (fegetround() != mode[id % 4])
            __atomic_fetch_add(&wrong[0], 1, __ATOMIC_RELAXED);
        if (fetestexcept(FE_DIVBYZERO | FE_INVALID) != (flags & FE_DIVBYZERO))
            __atomic_fetch_add(&wrong[1], 1, __ATOMIC_RELAXED);
        if (direction() != want)
            __atomic_fetch_add(&wrong[2], 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
inherited(void *arg)
{
    (void)arg;
    printf("inherited: %s, direction %d\n", modename(fegetround()), direction());
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < 4; i++) {
        fesetround(mode[i]);
        printf("%s: direction %d\n", modename(mode[i]), direction());
        join(spawn(inherited, NULL));
    }
    fesetround(FE_UPWARD);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("main keeps %s; wrong: mode %d, flags %d, results %d; done %d\n", modename(fegetround()), wrong[0],
           wrong[1], wrong[2], done);
    return conform_status();
}

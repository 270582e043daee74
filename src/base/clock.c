/* Clocks. clock_gettime is libc's, which asks the vDSO: no lock, no system call, safe in handlers. */
#define _GNU_SOURCE 1
#include "base.h"
#include "real.h"

uint64_t ticks_per_us = 2000;

int64_t
clocknow(clockid_t clock)
{
    struct timespec ts;

    real.clock_gettime(clock, &ts);
    return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t
nanotime(void)
{
    return clocknow(CLOCK_MONOTONIC);
}

void
sys_sleep(int64_t ns)
{
    struct timespec ts = { ns / 1000000000, ns % 1000000000 };

    sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, A(&ts), 0);
}

/* The cycle counter's rate, over 20 us: good to some percent, which the wake-up prediction can bear. */
void
clockinit(void)
{
    int64_t t0 = nanotime(), t1;
    uint64_t c0 = cpu_ticks();

    do
        t1 = nanotime();
    while (t1 - t0 < 20000);
    ticks_per_us = (cpu_ticks() - c0) * 1000 / (uint64_t)(t1 - t0) + 1;
}

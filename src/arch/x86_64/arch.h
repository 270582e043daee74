/* What is particular to x86-64 Linux: raw system calls, the thread pointer, pause, the cycle counter.
 *
 * A raw system call returns -errno, never touches errno and is no cancellation point, so the runtime
 * may make one with any %fs, on any stack and inside a signal handler.
 */
#ifndef GOSSAMER_ARCH_H
#define GOSSAMER_ARCH_H

#include <stdint.h>
#include <sys/syscall.h>

static inline long
sys6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;

    __asm__ volatile("syscall" : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

static inline long
sys3(long nr, long a, long b, long c)
{
    long ret;

    __asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return ret;
}

static inline long
sys4(long nr, long a, long b, long c, long d)
{
    long ret;
    register long r10 __asm__("r10") = d;

    __asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return ret;
}

/* The same, unless *flag is set before the kernel begins: then NOTMADE. A signal handler that sets it may
 * look where the thread is (see syscall.S); hence no inline code. */
enum { NOTMADE = -513 };        /* a number that the kernel never returns */
long sys6_unless(const _Bool *flag, long nr, long a, long b, long c, long d, long e, long f);
extern const unsigned char sys6_begin[], sys6_call[], sys6_not[] __attribute__((visibility("hidden")));

/* An argument of a raw system call, from any scalar type. */
#define A(x) ((long)(x))

static inline void
cpu_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

static inline uint64_t
cpu_ticks(void)
{
    uint32_t lo, hi;

    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

/* The thread pointer, which the ABI keeps at %fs:0 (and glibc at %fs:16 too). */
static inline char *
thread_pointer(void)
{
    char *tp;

    __asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* 1 where wrfsbase works in user mode (AT_HWCAP2 bit 1); set once by arch_init(). */
extern char arch_fsgsbase;

static inline void
thread_pointer_set(char *tp)
{
    enum { SetFs = 0x1002 };    /* ARCH_SET_FS of arch_prctl(2) */

    if (arch_fsgsbase)
        __asm__ volatile("wrfsbase %0" :: "r"(tp) : "memory");
    else
        sys3(SYS_arch_prctl, SetFs, A(tp), 0);
}

/* The floating-point control words as a new context starts with them: those of its creator. */
static inline uint64_t
fp_control(void)
{
    uint32_t mxcsr;
    uint16_t cw;

    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(cw));
    return (uint64_t)cw << 32 | mxcsr;
}

/* switch.S: leave the running context in *from and go on with the one saved at sp, whose thread
 * pointer is tp. Returns when somebody switches back, perhaps on another kernel thread. */
void context_switch(void **from, void *sp, void *tp);

/* switch.S: lays out, below `top`, a context that calls entry(arg) on its first switch. */
void *context_make(void *top, void (*entry)(void *), void *arg, uint64_t fp);


#endif

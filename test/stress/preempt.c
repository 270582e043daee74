/*
 * What a G that is preempted in the middle of its computation finds when it goes on. usage: preempt SECONDS [registers|libraries]
 *
 * Eight threads, each with a pattern of its own in all registers that the machine has: general ones, x87, SSE, AVX2, AVX-512
 * with its masks, flags, MXCSR; in errno and __thread variables. They compute in loops of assembly without any call, and
 * check that nothing has changed. Eight more sort, print, throw memory around and load libraries: code that must not be
 * preempted at the wrong moment. Prints the sums of what each kind did; status 1 if something was wrong.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EACH = 8, SPIN = 20000 };

static _Atomic int stop;
static _Atomic unsigned long bad, rounds[EACH * 2];
static __thread uint64_t mine[8];
static _Thread_local int *myerrno;

static void
wrong(const char *what)
{
    if (atomic_fetch_add(&bad, 1) < 20)
        fprintf(stderr, "wrong: %s\n", what);
}

/* General registers and flags: the carry and the direction of a comparison are carried around the loop. */
static void
general(uint64_t seed)
{
    uint64_t out[8], flags;

    __asm__ volatile("movq %[s], %%r8\n leaq 1(%%r8), %%r9\n leaq 2(%%r8), %%r10\n leaq 3(%%r8), %%r11\n"
                     "leaq 4(%%r8), %%r12\n leaq 5(%%r8), %%r13\n leaq 6(%%r8), %%r14\n leaq 7(%%r8), %%r15\n"
                     "movl %[n], %%ecx\n stc\n"
                     "1: decl %%ecx\n jnz 1b\n"         /* dec leaves the carry alone */
                     "pushfq\n popq %[f]\n"
                     "movq %%r8, (%[o])\n movq %%r9, 8(%[o])\n movq %%r10, 16(%[o])\n movq %%r11, 24(%[o])\n"
                     "movq %%r12, 32(%[o])\n movq %%r13, 40(%[o])\n movq %%r14, 48(%[o])\n movq %%r15, 56(%[o])\n"
                     : [f] "=&a"(flags)
                     : [s] "d"(seed), [n] "i"(SPIN), [o] "D"(out)
                     : "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
    for (uint64_t i = 0; i < 8; i++)
        if (out[i] != seed + i)
            wrong("a general register");
    if (!(flags & 1))
        wrong("the carry flag");
}

static void
x87(uint64_t seed)
{
    double in = (double)seed + 0.5, out[3];
    uint16_t old, rc = 0x0c7f, got;     /* truncation */

    __asm__ volatile("fnstcw %0" : "=m"(old));
    __asm__ volatile("fldcw %[rc]\n fldl %[in]\n fldpi\n fld1\n"
                     "movl %[n], %%ecx\n 1: decl %%ecx\n jnz 1b\n"
                     "fstpl (%[o])\n fstpl 8(%[o])\n fstpl 16(%[o])\n fnstcw %[got]\n"
                     : [got] "=m"(got)
                     : [rc] "m"(rc), [in] "m"(in), [n] "i"(SPIN), [o] "r"(out)
                     : "ecx", "memory", "cc");
    __asm__ volatile("fldcw %0" : : "m"(old));
    if (out[0] != 1.0 || out[2] != in || out[1] < 3.14 || out[1] > 3.15)
        wrong("an x87 register");
    if ((got & 0x0c00) != 0x0c00)
        wrong("the x87 control word");
}

__attribute__((target("avx2"))) static void
avx2(uint64_t seed)
{
    uint64_t in[16], out[16];
    uint32_t mxcsr = 0x7f80, got, old;  /* truncation */

    for (int i = 0; i < 16; i++)
        in[i] = seed * 0x9e3779b97f4a7c15u + (uint64_t)i;
    __asm__ volatile("stmxcsr %0" : "=m"(old));
    __asm__ volatile("ldmxcsr %[m]\n vmovdqu (%[i]), %%ymm0\n vmovdqu 32(%[i]), %%ymm7\n vmovdqu 64(%[i]), %%ymm8\n vmovdqu 96(%[i]), %%ymm15\n"
                     "movl %[n], %%ecx\n 1: decl %%ecx\n jnz 1b\n"
                     "vmovdqu %%ymm0, (%[o])\n vmovdqu %%ymm7, 32(%[o])\n vmovdqu %%ymm8, 64(%[o])\n vmovdqu %%ymm15, 96(%[o])\n"
                     "stmxcsr %[g]\n ldmxcsr %[old]\n vzeroupper\n"
                     : [g] "=m"(got)
                     : [m] "m"(mxcsr), [old] "m"(old), [i] "r"(in), [o] "r"(out), [n] "i"(SPIN)
                     : "ecx", "memory", "cc", "xmm0", "xmm7", "xmm8", "xmm15");
    if (memcmp(in, out, sizeof in) != 0)
        wrong("an AVX register");
    if ((got & 0x6000) != 0x6000)
        wrong("MXCSR");
}

__attribute__((target("avx512f,avx512bw"))) static void
avx512(uint64_t seed)
{
    uint64_t in[32], out[32], mask;

    for (int i = 0; i < 32; i++)
        in[i] = seed * 0xd1b54a32d192ed03u + (uint64_t)i;
    __asm__ volatile("kmovq %[s], %%k1\n vmovdqu64 (%[i]), %%zmm0\n vmovdqu64 64(%[i]), %%zmm15\n vmovdqu64 128(%[i]), %%zmm16\n vmovdqu64 192(%[i]), %%zmm31\n"
                     "movl %[n], %%ecx\n 1: decl %%ecx\n jnz 1b\n"
                     "vmovdqu64 %%zmm0, (%[o])\n vmovdqu64 %%zmm15, 64(%[o])\n vmovdqu64 %%zmm16, 128(%[o])\n vmovdqu64 %%zmm31, 192(%[o])\n"
                     "kmovq %%k1, %[m]\n vzeroupper\n"
                     : [m] "=&r"(mask)
                     : [s] "r"(seed), [i] "r"(in), [o] "r"(out), [n] "i"(SPIN)
                     : "ecx", "memory", "cc", "xmm0", "xmm15");
    if (memcmp(in, out, sizeof in) != 0)
        wrong("an AVX-512 register");
    if (mask != seed)
        wrong("an AVX-512 mask");
}

static void *
registers(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    int has2 = __builtin_cpu_supports("avx2"), has512 = __builtin_cpu_supports("avx512bw");

    myerrno = &errno;
    for (uint64_t i = 0; !stop; i++) {
        uint64_t seed = me << 48 | i;

        errno = (int)(me + 1);
        for (int k = 0; k < 8; k++)
            mine[k] = seed + (uint64_t)k;
        general(seed);
        x87(me << 32 | (i & 0xffff));
        if (has2)
            avx2(seed);
        if (has512)
            avx512(seed);
        for (int k = 0; k < 8; k++)
            if (mine[k] != seed + (uint64_t)k)
                wrong("a thread's variable");
        if (errno != (int)(me + 1) || myerrno != &errno)
            wrong("errno");
        atomic_fetch_add(&rounds[me], 1);
    }
    return NULL;
}

static int
less(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    for (volatile int i = 0; i < 5; i++) { }
    return (x > y) - (x < y);
}

static void
sorting(unsigned *seed)
{
    enum { N = 3000 };
    int *v = malloc(N * sizeof *v);

    for (int i = 0; i < N; i++)
        v[i] = rand_r(seed);
    qsort(v, N, sizeof *v, less);
    for (int i = 1; i < N; i++)
        if (v[i - 1] > v[i])
            wrong("qsort");
    free(v);
}

static void
allocating(unsigned *seed)
{
    char *p[64];

    for (int i = 0; i < 64; i++) {
        size_t n = (size_t)(rand_r(seed) % 5000 + 1);

        p[i] = malloc(n);
        memset(p[i], i, n);
        p[i][n - 1] = (char)i;
    }
    for (int i = 0; i < 64; i++) {
        if (p[i][0] != (char)i)
            wrong("malloc");
        free(p[i]);
    }
}

static void
printing(unsigned *seed, FILE *f)
{
    char buf[200];
    double d = rand_r(seed) / 7.0;

    for (int i = 0; i < 50; i++) {
        fprintf(f, "%d %.17g %s\n", i, d, "text");
        snprintf(buf, sizeof buf, "%.17g", d);
        if (strtod(buf, NULL) != d)
            wrong("printf");
    }
}

static void
loading(void)
{
    void *h = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

    if (h == NULL || dlsym(h, "cosf") == NULL)
        wrong("dlopen");
    if (h != NULL)
        dlclose(h);
}

static void *
library(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    unsigned seed = (unsigned)me;
    FILE *f = fopen("/dev/null", "w");

    while (!stop) {
        switch (me % 4) {
        case 0: sorting(&seed); break;
        case 1: allocating(&seed); break;
        case 2: printing(&seed, f); break;
        default: loading();
        }
        atomic_fetch_add(&rounds[me], 1);
    }
    fclose(f);
    return NULL;
}

int
main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 5;
    pthread_t th[EACH * 2];
    unsigned long least[2] = { ~0ul, ~0ul };
    uintptr_t from = argc > 2 && strcmp(argv[2], "libraries") == 0 ? EACH : 0;
    uintptr_t to = argc > 2 && strcmp(argv[2], "registers") == 0 ? EACH : EACH * 2;

    for (uintptr_t i = from; i < to; i++)
        if (pthread_create(&th[i], NULL, i < EACH ? registers : library, (void *)i) != 0)
            return 2;
    sleep((unsigned)seconds);
    stop = 1;
    for (uintptr_t i = from; i < to; i++) {
        pthread_join(th[i], NULL);
        if (rounds[i] < least[i / EACH])
            least[i / EACH] = rounds[i];
    }
    printf("%lu wrong", bad);
    if (from == 0)
        printf("; the slowest did %lu rounds with registers", least[0]);
    if (to > EACH)
        printf("; the slowest did %lu rounds in libraries", least[1]);
    printf("\n");
    return bad != 0 || least[0] == 0 || least[1] == 0;
}

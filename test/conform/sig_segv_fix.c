/*
 * A SIGSEGV handler that repairs the fault: mprotect of the page at si_addr and return, so that the access is
 * repeated; or another instruction pointer in the context.  Many threads at once, as a collector's write
 * barrier does.  POSIX sigaction; Linux ucontext.
 */
#include "conform.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { N = 16, PAGES = 40 };

static char *area;
static long page;
static __thread long faults, skips;
static __thread char *expect;
static int wrong;
extern const char after_bad_load[];

static void
handler(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = (ucontext_t *)context;
    char *at = (char *)info->si_addr;

    if (at == (char *)64) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)after_bad_load;
        uc->uc_mcontext.gregs[REG_RAX] = 4711;
        skips++;
        return;
    }
    if (sig != SIGSEGV || info->si_code != SEGV_ACCERR || at != expect)
        __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    if (mprotect((char *)((uintptr_t)at & ~(uintptr_t)(page - 1)), (size_t)page, PROT_READ | PROT_WRITE) != 0)
        _exit(3);
    faults++;
}

static long
badload(void)
{
    long r;

    __asm__ volatile("mov 64, %0\n.globl after_bad_load\nafter_bad_load:" : "=a"(r) : : "memory");
    return r;
}

static void *
body(void *arg)
{
    long me = (intptr_t)arg, sum = 0;

    start_wait();
    for (long i = 0; i < PAGES; i++) {
        char *p = area + (i * N + me) * page;

        expect = p + me;
        *(volatile char *)(p + me) = (char)i;
        sum += *(volatile char *)(p + me) == (char)i;
        if (i % 8 == 0) {
            usleep(100);
            sum += badload() == 4711;
        }
    }
    CHECK(faults == PAGES && skips == PAGES / 8);
    return (void *)(intptr_t)sum;
}

int
main(void)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    pthread_t t[N];
    long sum = 0;

    page = sysconf(_SC_PAGESIZE);
    area = (char *)mmap(NULL, (size_t)(N * PAGES * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && sigaction(SIGSEGV, &sa, NULL) == 0);
    start_init(N);
    for (intptr_t i = 0; i < N; i++)
        t[i] = spawn(body, (void *)i);
    for (int i = 0; i < N; i++)
        sum += (intptr_t)join(t[i]);
    printf("%ld of %d, wrong %d\n", sum, N * (PAGES + PAGES / 8), wrong);
    return conform_status();
}

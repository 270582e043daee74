/*
 * Signals by syscall(): actions, masks, what is pending, waits, queued values, alternate stacks; which waits a handler ends in
 * spite of SA_RESTART (poll, nanosleep, a futex with a time limit). Masks hold across a switch.  syscall(2), signal(7).
 */
#include "conform.h"
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

struct ksigaction {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

void restorer(void);
__asm__(".text\n.type restorer,@function\nrestorer:\n\tmovl $15, %eax\n\tsyscall\n");

static volatile sig_atomic_t got, value, onstack;
static volatile int waiting;
static char altstack[65536];
static uint64_t usr1 = UINT64_C(1) << (SIGUSR1 - 1), usr2 = UINT64_C(1) << (SIGUSR2 - 1);

static void
handler(int sig, siginfo_t *info, void *uc)
{
    char here;

    (void)sig;
    (void)uc;
    got++;
    if (info->si_code == SI_QUEUE)
        value = info->si_value.sival_int;
    onstack = &here >= altstack && &here < altstack + sizeof altstack;
}

static int
blocked(int sig)
{
    sigset_t set;

    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, sig) == 1;
}

static void *
masks(void *arg)
{
    uint64_t old = 0, pending = 0;
    siginfo_t info;
    struct timespec ts = { 5, 0 };

    (void)arg;
    SYS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, 8));
    SYS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, 4));
    SYS(syscall(SYS_rt_sigprocmask, 77, &usr1, NULL, 8));
    sched_yield();
    msleep(2);
    pthread_kill(pthread_self(), SIGUSR1);
    SYS(syscall(SYS_rt_sigpending, &pending, 8));
    printf("blocked: ran %d, member %d, pending %d\n", (int)got, blocked(SIGUSR1), (pending & usr1) != 0);
    SYS(syscall(SYS_rt_sigtimedwait, &usr1, &info, &ts, 8) == SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR1);
    SYS(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &usr1, &old, 8));
    printf("unblocked: ran %d, was blocked %d\n", (int)got, (old & usr1) != 0);

    memset(&info, 0, sizeof info);
    info.si_signo = SIGUSR1;
    info.si_code = SI_QUEUE;
    info.si_value.sival_int = 4711;
    SYS(syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), SIGUSR1, &info));
    printf("queued: ran %d, value %d\n", (int)got, (int)value);
    SYS(syscall(SYS_tkill, (pid_t)syscall(SYS_gettid), SIGUSR1));
    printf("tkill: ran %d\n", (int)got);
    return NULL;
}

static void *
alternate(void *arg)
{
    stack_t ss = { .ss_sp = altstack, .ss_size = sizeof altstack }, off = { .ss_flags = SS_DISABLE }, old;

    (void)arg;
    SYS(syscall(SYS_sigaltstack, &ss, NULL));
    sched_yield();
    pthread_kill(pthread_self(), SIGUSR1);
    printf("on the alternate stack: %d\n", (int)onstack);
    SYS(syscall(SYS_sigaltstack, &off, &old));
    CHECK(old.ss_sp == altstack);
    pthread_kill(pthread_self(), SIGUSR1);
    printf("afterwards: %d\n", (int)onstack);
    return NULL;
}

enum { Poll, Nanosleep, Futex, Ppoll, Suspend, Read, N };

static int fd[2];

static void *
waiter(void *arg)
{
    struct timespec ts = { 20, 0 };
    struct pollfd p = { fd[0], POLLIN, 0 };
    uint64_t none = 0;
    int *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char c;

    waiting = 1;
    errno = 0;
    switch ((int)(intptr_t)arg) {
    case Poll: SYS(syscall(SYS_poll, &p, 1, 20000)); break;
    case Nanosleep: SYS(syscall(SYS_nanosleep, &ts, NULL)); break;
    case Futex: SYS(syscall(SYS_futex, word, FUTEX_WAIT, 0, &ts, NULL, 0)); break;
    case Ppoll:
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, 8);
        SYS(syscall(SYS_ppoll, &p, 1, &ts, &none, 8));
        printf("blocked again: %d\n", blocked(SIGUSR1));
        break;
    case Suspend: SYS(syscall(SYS_rt_sigsuspend, &usr2, 8)); break;
    case Read:
        SYS(syscall(SYS_read, fd[0], &c, 1));
        break;
    }
    munmap(word, 4096);
    return NULL;
}

static void
interrupt(void)
{
    CHECK(pipe(fd) == 0);
    for (intptr_t i = 0; i < N; i++) {
        pthread_t t;
        int before = got;

        waiting = 0;
        t = spawn(waiter, (void *)i);
        while (!waiting)
            sched_yield();
        msleep(30);
        pthread_kill(t, SIGUSR1);
        if (i == Read) {
            msleep(10);
            CHECK(write(fd[1], "x", 1) == 1);
        }
        join(t);
        printf("handler ran %d\n", (int)got - before);
    }
}

static void *
signalfds(void *arg)
{
    struct signalfd_siginfo info;
    int sfd;

    (void)arg;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &usr2, NULL, 8);
    sfd = (int)syscall(SYS_signalfd4, -1, &usr2, 8, 0);
    CHECK(sfd >= 0);
    pthread_kill(pthread_self(), SIGUSR2);
    CHECK(syscall(SYS_read, sfd, &info, sizeof info) == sizeof info);
    printf("signalfd: %d\n", (int)info.ssi_signo == SIGUSR2);
    close(sfd);
    return NULL;
}

int
main(void)
{
    struct ksigaction sa = { handler, SA_SIGINFO | SA_RESTART | SA_ONSTACK | 0x04000000, restorer, usr2 }, old;
    pid_t pid = getpid();

    SYS(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 8));
    SYS(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 4));
    SYS(syscall(SYS_rt_sigaction, SIGKILL, &sa, NULL, 8));
    join(spawn(masks, NULL));
    SYS(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8));
    printf("as set: %d\n", old.handler == handler && old.mask == usr2 &&
           (old.flags & ~0x04000000UL) == (SA_SIGINFO | SA_RESTART | SA_ONSTACK));
    SYS(syscall(SYS_rt_sigaction, SIGUSR1, &sa, NULL, 8));
    got = 0;
    SYS(syscall(SYS_kill, pid, SIGUSR1));
    printf("kill: ran %d\n", (int)got);
    SYS(syscall(SYS_tgkill, pid, (pid_t)syscall(SYS_gettid), SIGUSR1));
    printf("tgkill: ran %d\n", (int)got);
    join(spawn(alternate, NULL));
    interrupt();
    join(spawn(signalfds, NULL));
    return conform_status();
}

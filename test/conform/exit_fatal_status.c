/*
 * A thread's fatal signal ends the process by it: the status that the parent sees has that signal, and the
 * core flag where the signal dumps core and the limit allows one.  Raised, sent, and real faults, in main and in
 * threads, with a reset handler.  POSIX 2.4.3, wait.
 */
#include "conform.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *volatile null;
static volatile int zero;

static void
reraise(int sig)
{
    signal(sig, SIG_DFL);
    raise(sig);
}

static void *
waits(void *arg)
{
    pause();
    return arg;
}

static void *
dies(void *arg)
{
    switch ((intptr_t)arg) {
    case 0: raise(SIGTERM); break;
    case 1: abort();
    case 2: *(volatile int *)null = 1; break;
    case 3: zero = 1 / zero; break;
    case 4: __builtin_trap();
    case 5: raise(SIGQUIT); break;
    case 6: kill(getpid(), SIGKILL); break;
    case 7: signal(SIGSEGV, reraise); *(volatile int *)null = 1; break;
    case 8: signal(SIGINT, reraise); raise(SIGINT); break;
    default: signal(SIGRTMIN, SIG_DFL); raise(SIGRTMIN); break;
    }
    return arg;
}

static void
round_of(intptr_t from, intptr_t to)
{
    for (intptr_t i = from; i < to; i++)
        for (int inthread = 0; inthread < 2; inthread++) {
            pid_t pid = fork();
            int st;

            if (pid == 0) {
                if (!inthread)
                    dies((void *)i);
                spawn(waits, NULL);
                join(spawn(dies, (void *)i));
                _exit(99);
            }
            CHECK(waitpid(pid, &st, 0) == pid);
            printf("%d in %s: signal %d, core %d, ", (int)i, inthread ? "thread" : "main", WIFSIGNALED(st) ? WTERMSIG(st) : 0,
                   WCOREDUMP(st) != 0);
            printf("status %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
        }
}

int
main(void)
{
    struct rlimit rl;

    CHECK(getrlimit(RLIMIT_CORE, &rl) == 0);
    rl.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_CORE, &rl) == 0);
    round_of(0, 10);
    rl.rlim_cur = rl.rlim_max < 1 << 16 ? rl.rlim_max : 1 << 16;        /* it is cut short, that is enough */
    CHECK(setrlimit(RLIMIT_CORE, &rl) == 0);
    round_of(1, 3);
    return conform_status();
}

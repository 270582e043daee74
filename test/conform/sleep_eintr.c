/*
 * A handler that runs in a sleeping thread ends nanosleep and relative clock_nanosleep with EINTR,
 * SA_RESTART or not, and the time left is written; sleep returns what is left.  signal(7), nanosleep(2).
 */
#include "conform.h"
#include <signal.h>

static volatile sig_atomic_t handled;
static int stage;

static void
handler(int sig)
{
    (void)sig;
    handled = 1;
}

static void
report(const char *what, int e, long left, long asked)
{
    printf("%s: %s, handler %s, left %s\n", what, errname(e), handled ? "ran" : "did not run",
           left > asked - 40 && left <= asked ? "most" : "a wrong amount");
    handled = 0;
    __atomic_fetch_add(&stage, 1, __ATOMIC_RELEASE);
}

static void *
sleeper(void *arg)
{
    const struct timespec minute = { 60, 0 };
    struct timespec rem;
    int e;

    (void)arg;
    e = nanosleep(&minute, &rem) == 0 ? 0 : errno;
    report("nanosleep", e, (long)rem.tv_sec, 60);
    e = clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, &rem);
    report("clock_nanosleep", e, (long)rem.tv_sec, 60);
    report("sleep", 0, (long)sleep(60), 60);
    return NULL;
}

/* The signal may come before the sleep begins: repeat it until the stage is over. */
static void
run(int flags)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
    pthread_t t;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
    stage = 0;
    handled = 0;
    t = spawn(sleeper, NULL);
    while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < 3) {
        msleep(10);
        if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < 3)
            pthread_kill(t, SIGUSR1);
    }
    join(t);
}

int
main(void)
{
    printf("without SA_RESTART\n");
    run(0);
    printf("with SA_RESTART\n");
    run(SA_RESTART);
    return conform_status();
}

/* One thread sends signals to another as fast as it can, while that one polls, computes, or does nothing else than handle
 * them. Another leaves its handler by siglongjmp with a second signal pending. However fast the sender, the frames must not pile up on
 * the receiver's stack, which is small, and the last signal of each kind is handled. */
#include "conform.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>

static volatile sig_atomic_t stop, first, last;
static volatile unsigned ticks;
static sigjmp_buf out;

static void
onsig(int s)
{
    (void)s;
    for (volatile int i = 0; i < 2000; i++) { }
    ticks++;
}

static void onfirst(int s) { (void)s; first = 1; siglongjmp(out, 1); }
static void onlast(int s) { (void)s; last = 1; }

static void *
receive(void *arg)
{
    int p[2], how = *(int *)arg;
    stack_t alt = { .ss_sp = malloc(64 * 1024), .ss_size = 64 * 1024 }, none = { .ss_flags = SS_DISABLE };

    if (how >= 3)
        CHECK(sigaltstack(&alt, NULL) == 0);
    how %= 3;
    CHECK(pipe(p) == 0);
    while (!stop) {
        struct pollfd pfd = { .fd = p[0], .events = POLLIN };

        if (how == 0)
            poll(&pfd, 1, 10);
        else if (how == 1)
            getppid();
        else
            for (volatile int i = 0; i < 1000; i++) { }
    }
    close(p[0]);
    close(p[1]);
    sigaltstack(&none, NULL);
    free(alt.ss_sp);
    return NULL;
}

static void
flood(int how)
{
    pthread_attr_t attr;
    pthread_t th;
    unsigned before;

    stop = 0;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, 128 * 1024) == 0);
    CHECK(pthread_create(&th, &attr, receive, &how) == 0);
    for (int i = 0; i < 30000; i++)
        CHECK(pthread_kill(th, SIGVTALRM) == 0);
    before = ticks;
    CHECK(pthread_kill(th, SIGUSR1) == 0);
    for (int i = 0; i < 3000 && ticks == before; i++)
        usleep(10000);
    printf("flood %d: %s\n", how, ticks != before ? "handled" : "lost");
    stop = 1;
    pthread_join(th, NULL);
}

/* Both are pending when they are let in; the handler of one does not come back. */
static void *
jumps(void *arg)
{
    sigset_t set, old;

    (void)arg;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    signal(SIGUSR1, onfirst);
    signal(SIGUSR2, onlast);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR2);
    if (sigsetjmp(out, 1) == 0)
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    for (int i = 0; i < 100000000 && !(first && last); i++)
        ;
    printf("jumped: %d, and the other: %d\n", first, last);
    return NULL;
}

int
main(void)
{
    pthread_t th;

    struct sigaction sa = { .sa_handler = onsig, .sa_flags = SA_ONSTACK };

    CHECK(sigaction(SIGVTALRM, &sa, NULL) == 0);
    signal(SIGUSR1, onsig);
    for (int how = 0; how < 6; how++)
        flood(how);
    CHECK(pthread_create(&th, NULL, jumps, NULL) == 0);
    pthread_join(th, NULL);
    return conform_status();
}

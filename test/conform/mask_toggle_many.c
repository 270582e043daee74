/* Threads that block and unblock, each a signal of its own, all the time: every call returns, whatever the others do. */
#include "conform.h"
#include <signal.h>

enum { Threads = 8, Rounds = 1500 };

static void *
toggles(void *arg)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + (int)(intptr_t)arg);
    for (int i = 0; i < Rounds; i++) {
        OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
        OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
        usleep(1000);
    }
    return NULL;
}

int
main(void)
{
    pthread_t t[Threads];

    for (int i = 0; i < Threads; i++)
        t[i] = spawn(toggles, (void *)(intptr_t)i);
    for (int i = 0; i < Threads; i++)
        join(t[i]);
    printf("all done\n");
    return conform_status();
}

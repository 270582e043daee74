/*
 * Two threads that wake each other with signals, each asleep in sigsuspend: a signal that comes between the change of the mask
 * and the sleep ends it, too. Likewise ppoll.  sigsuspend(2).
 */
#include "conform.h"
#include <poll.h>
#include <signal.h>

enum { ROUNDS = 3000 };

static pthread_t th[2];
static _Atomic int turn;
static int byppoll;

static void
nothing(int sig)
{
    (void)sig;
}

static void *
player(void *arg)
{
    int me = (int)(intptr_t)arg;
    sigset_t set, open;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &open);
    sigdelset(&open, SIGUSR1);
    start_wait();
    for (int i = 0; i < ROUNDS; i++) {
        while (turn != me)
            if (byppoll)
                ppoll(NULL, 0, NULL, &open);
            else
                sigsuspend(&open);
        turn = !me;
        pthread_kill(th[!me], SIGUSR1);
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = nothing };

    sigaction(SIGUSR1, &sa, NULL);
    for (byppoll = 0; byppoll < 2; byppoll++) {
        turn = 0;
        start_init(3);
        for (intptr_t i = 0; i < 2; i++)
            th[i] = spawn(player, (void *)i);
        start_wait();
        join(th[0]);
        join(th[1]);
        printf("%d rounds\n", ROUNDS);
    }
    return conform_status();
}

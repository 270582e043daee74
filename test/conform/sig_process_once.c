/* A signal sent to the process by another thread than the main one is handled once. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>

enum { Signals = 2000 };

static sem_t handled;
static _Atomic int count[2];

static void
handler(int sig)
{
    count[sig == SIGUSR2]++;
    sem_post(&handled);
}

static void *
sender(void *unused)
{
    (void)unused;
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    int wrong = 0;

    OK(sigaction(SIGUSR1, &sa, NULL));
    OK(sigaction(SIGUSR2, &sa, NULL));
    sem_init(&handled, 0, 0);
    for (int i = 0; i < Signals; i++) {
        pthread_t t = spawn(sender, NULL);

        for (int n = 0; n < 2; n++)
            while (sem_wait(&handled) < 0)
                ;
        join(t);
        wrong += count[0] != i + 1 || count[1] != i + 1;
    }
    printf("wrong %d, %d %d\n", wrong, count[0], count[1]);
    return conform_status();
}

/* A signal that another thread sends to the process has been handled by the main thread when that thread's
 * wait ends by a semaphore that was posted after kill() had returned. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>

enum { Signals = 3000 };

static sem_t go, sent;
static _Atomic int count;

static void
handler(int sig)
{
    (void)sig;
    count++;
}

static void *
sender(void *unused)
{
    sigset_t set;

    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));         /* it is main's, whatever the kernel prefers */
    for (int i = 0; i < Signals; i++) {
        while (sem_wait(&go) < 0)
            ;
        if (i % 100 == 0)
            msleep(1);
        kill(getpid(), SIGUSR1);
        sem_post(&sent);
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler };
    int late = 0;
    pthread_t t;

    OK(sigaction(SIGUSR1, &sa, NULL));
    sem_init(&go, 0, 0);
    sem_init(&sent, 0, 0);
    t = spawn(sender, NULL);
    for (int i = 0; i < Signals; i++) {
        sem_post(&go);
        while (sem_wait(&sent) < 0)
            ;
        late += count <= i;
    }
    join(t);
    printf("handled too late: %s\n", late > 0 ? "some" : "none");
    fprintf(stderr, "%d late\n", late);
    return conform_status();
}

/* Preloaded by stress-ng-signals.sh: a second thread, which blocks all signals and waits, in the process and in every
 * child that it forks, so that programs of one thread are run by the runtime as well. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *
wait_forever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

static void
start(void)
{
    sigset_t all, old;
    pthread_t t;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&t, NULL, wait_forever, NULL) == 0)
        pthread_detach(t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

__attribute__((constructor)) static void
init(void)
{
    pthread_atfork(NULL, NULL, start);
    start();
}

/* Handlers on an alternate stack, for signals to the process that come while the main thread waits. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

enum { Signals = 2000, Size = 1 << 16 };

static char *lo;
static sem_t handled;
static pthread_t first;
static _Atomic int off;         /* handlers of main's that did not run on its alternate stack */

static void
handler(int sig)
{
    char here;

    (void)sig;
    if (pthread_equal(pthread_self(), first) && (uintptr_t)&here - (uintptr_t)lo >= Size)
        off++;
    sem_post(&handled);
}

static void *
sender(void *unused)
{
    (void)unused;
    for (int i = 0; i < Signals; i++) {
        struct timespec pause = { 0, 20000 };

        kill(getpid(), SIGUSR1);
        while (sem_wait(&handled) < 0)
            ;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    stack_t st = { .ss_size = Size };
    struct timespec second = { 1, 0 };
    int broken = 0;
    pthread_t t;

    first = pthread_self();
    lo = mmap(NULL, Size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    st.ss_sp = lo;
    OK(sigaltstack(&st, NULL));
    OK(sigaction(SIGUSR1, &sa, NULL));
    sem_init(&handled, 0, 0);
    t = spawn(sender, NULL);
    while (pthread_tryjoin_np(t, NULL) == EBUSY)
        broken += nanosleep(&second, NULL) < 0 && errno == EINTR;
    printf("handlers off the stack: %d, waits broken off: %s\n", off, broken > 0 ? "some" : "none");
    return conform_status();
}

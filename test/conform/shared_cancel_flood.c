/* Threads that wait at process-shared objects are cancelled while signals for the process, whose handler restarts calls, come in a
 * flood: the word of the cancellation may arrive while a handler runs on top of the wait, and must not be lost with it. */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct shared {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    sem_t sem;
    volatile int stop;
} *sh;

static volatile int in;
static int cleaned;

static void onsig(int s) { (void)s; }

static void
clean(void *arg)
{
    (void)arg;
    cleaned++;
    pthread_mutex_unlock(&sh->lock);
}

static void *
waits(void *arg)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pthread_mutex_lock(&sh->lock);
    pthread_cleanup_push(clean, NULL);
    in = 1;
    for (;;)
        if (arg != NULL)
            pthread_cond_wait(&sh->cond, &sh->lock);
        else
            sem_wait(&sh->sem);
    pthread_cleanup_pop(0);
    return NULL;
}

static pid_t
flood(void)
{
    pid_t me = getpid(), child = fork();

    if (child != 0)
        return child;
    while (!sh->stop && getppid() == me) {
        kill(me, SIGUSR1);
        usleep(50);
    }
    _exit(0);
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onsig, .sa_flags = SA_RESTART };
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    sigset_t set;
    pid_t child;
    int cancelled = 0;

    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_mutex_init(&sh->lock, &ma) == 0 && pthread_cond_init(&sh->cond, &ca) == 0 && sem_init(&sh->sem, 1, 0) == 0);
    sigaction(SIGUSR1, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    child = flood();
    for (int i = 0; i < 1000; i++) {
        pthread_t th;
        void *ret;

        in = 0;
        CHECK(pthread_create(&th, NULL, waits, i % 2 ? sh : NULL) == 0);
        while (!in)
            usleep(100);
        usleep((useconds_t)(i % 7) * 50);
        pthread_cancel(th);
        pthread_join(th, &ret);
        cancelled += ret == PTHREAD_CANCELED;
    }
    sh->stop = 1;
    waitpid(child, NULL, 0);
    printf("%d cancelled, %d cleaned up\n", cancelled, cleaned);
    return conform_status();
}

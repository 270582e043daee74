/*
 * Who handles a signal sent to the process: main where it does not block it, though others do not either;
 * if only one thread has it open, that one, parked in whatever: a lock, a read, a sleep, a join, a condition
 * variable.  POSIX 2.4.1; Linux prefers main.
 */
#include "conform.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

enum { Lock, Read, Sleep, Cond, Sem, Join, Compute, N };
static const char *const names[] = { "lock", "read", "sleep", "cond", "sem", "join", "compute" };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t sem, ended;
static int fd[2], total, released;
static __thread int mine;

static void
handler(int sig)
{
    (void)sig;
    mine++;
    __atomic_add_fetch(&total, 1, __ATOMIC_RELEASE);
}

static void
usr1(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(how, &set, NULL));
}

static void *
ender(void *arg)
{
    while (sem_wait(&ended) != 0)
        ;
    return arg;
}

static void *
waits(void *arg)
{
    volatile long x = 0;
    pthread_t t;
    char b;

    t = spawn(ender, NULL);     /* blocks it */
    usr1(SIG_UNBLOCK);
    switch ((intptr_t)arg) {
    case Lock:
        pthread_mutex_lock(&held);
        pthread_mutex_unlock(&held);
        break;
    case Read: CHECK(read(fd[0], &b, 1) == 1); break;
    case Sleep:
        while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
            sleep(1);
        break;
    case Cond:
        pthread_mutex_lock(&m);
        while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
            pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
        break;
    case Sem:
        while (sem_wait(&sem) != 0)
            ;
        break;
    case Join: join(t); break;
    default:
        while (!__atomic_load_n(&released, __ATOMIC_ACQUIRE))
            x++;
    }
    usr1(SIG_BLOCK);
    if ((intptr_t)arg != Join)
        join(t);
    return (void *)(intptr_t)mine;
}

/* From outside, as sent by another process. */
static void
fromchild(void)
{
    int before = __atomic_load_n(&total, __ATOMIC_ACQUIRE);
    pid_t pid = fork();

    if (pid == 0)
        _exit(kill(getppid(), SIGUSR1));
    while (__atomic_load_n(&total, __ATOMIC_ACQUIRE) == before)
        msleep(1);
    while (waitpid(pid, NULL, 0) != pid)
        ;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t t;

    CHECK(sigaction(SIGUSR1, &sa, NULL) == 0 && pipe(fd) == 0);
    sem_init(&sem, 0, 0);
    sem_init(&ended, 0, 0);
    for (intptr_t i = 0; i < N; i++) {
        released = mine = 0;
        pthread_mutex_lock(&held);
        usr1(SIG_BLOCK);
        t = spawn(waits, (void *)i);
        msleep(20);
        fromchild();
        fromchild();
        usr1(SIG_UNBLOCK);
        fromchild();
        fromchild();
        fromchild();
        pthread_mutex_unlock(&held);
        CHECK(write(fd[1], "x", 1) == 1 && sem_post(&sem) == 0 && sem_post(&ended) == 0);
        pthread_mutex_lock(&m);
        __atomic_store_n(&released, 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
        printf("%s: thread %ld, ", names[i], (long)(intptr_t)join(t));
        printf("main %d\n", mine);
        if (i != Read) {
            char b;

            CHECK(read(fd[0], &b, 1) == 1);
        }
        if (i != Sem)
            CHECK(sem_wait(&sem) == 0);
    }
    return conform_status();
}

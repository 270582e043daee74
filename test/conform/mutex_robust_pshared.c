/*
 * A robust process-shared mutex whose owner, a thread of another process, is killed: EOWNERDEAD here.
 * POSIX pthread_mutex_lock.
 */
#include "conform.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t *m;

static void *
holds(void *arg)
{
    pthread_mutex_lock(m);
    kill(getpid(), SIGKILL);
    return arg;
}

static void *
locks(void *arg)
{
    *(int *)arg = pthread_mutex_lock(m);
    return (void *)(intptr_t)(pthread_mutex_consistent(m) | pthread_mutex_unlock(m));
}

int
main(void)
{
    pthread_mutexattr_t a;
    int status = 0, e = -1;
    pid_t pid;

    m = (pthread_mutex_t *)mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    RC(pthread_mutex_init(m, &a));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        join(spawn(holds, NULL));
        _exit(1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("child killed by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    RC((int)(intptr_t)join(spawn(locks, &e)));
    printf("lock: %s\n", errname(e));
    RC(pthread_mutex_trylock(m));
    RC(pthread_mutex_unlock(m));
    return conform_status();
}

/*
 * A thread forks again and again while others compute and allocate: the locks that fork takes inside libc are held
 * for short, whatever happens to the thread in between.  POSIX fork.
 */
#include "conform.h"
#include <sys/wait.h>

enum { WORKERS = 3, FORKS = 400 };

static int stop;

static void *
worker(void *arg)
{
    unsigned long n = 0;

    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        void *p = malloc(64 + n % 2000);
        volatile int i;

        CHECK(p != NULL);
        for (i = 0; i < 2000; i++)
            ;
        free(p);
        n++;
    }
    return (void *)(intptr_t)(n > 0);
}

static void *
forker(void *arg)
{
    long ok = 0;
    int i;

    (void)arg;
    for (i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t pid = fork();

        if (pid == 0)
            _exit(i & 63);
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        ok += WIFEXITED(status) && WEXITSTATUS(status) == (i & 63);
    }
    return (void *)(intptr_t)ok;
}

int
main(void)
{
    pthread_t w[WORKERS], f;
    long ok;
    int i;

    for (i = 0; i < WORKERS; i++)
        w[i] = spawn(worker, NULL);
    f = spawn(forker, NULL);
    ok = (long)(intptr_t)forker(NULL) + (long)(intptr_t)join(f);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < WORKERS; i++)
        CHECK(join(w[i]) == (void *)1);
    printf("%ld of %d children\n", ok, 2 * FORKS);
    return conform_status();
}

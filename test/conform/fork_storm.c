/*
 * Four threads fork at once while others malloc, print, lock and sleep: every child can malloc, print and
 * exit with its own status, and nothing hangs in the parent.  POSIX fork.
 */
#include "conform.h"
#include <sys/wait.h>

enum { FORKERS = 4, FORKS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stop, right;
static FILE *null;

static void *
busy(void *arg)
{
    int i;

    for (i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
        free(malloc((size_t)(i % 5000)));
        fprintf(null, "%d %d\n", (int)(intptr_t)arg, i);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        if (i % 50 == 0)
            msleep(1);
    }
    return NULL;
}

static void *
forker(void *arg)
{
    int i, st, want;

    for (i = 0; i < FORKS; i++) {
        pid_t pid;

        want = (int)(intptr_t)arg * FORKS + i + 1;
        pid = fork();
        if (pid == 0) {
            char *p = malloc(10000);

            memset(p, 1, 10000);
            fprintf(null, "child %d\n", want);
            fflush(null);
            free(p);
            msleep(1);
            _exit(want);
        }
        CHECK(pid > 0 && waitpid(pid, &st, 0) == pid);
        if (WIFEXITED(st) && WEXITSTATUS(st) == want)
            __atomic_fetch_add(&right, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int
main(void)
{
    pthread_t b[3], f[FORKERS];
    int i;

    null = fopen("/dev/null", "w");
    CHECK(null != NULL);
    for (i = 0; i < 3; i++)
        b[i] = spawn(busy, (void *)(intptr_t)i);
    for (i = 0; i < FORKERS; i++)
        f[i] = spawn(forker, (void *)(intptr_t)i);
    for (i = 0; i < FORKERS; i++)
        join(f[i]);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 3; i++)
        join(b[i]);
    printf("right %d of %d\n", right, FORKERS * FORKS);
    return conform_status();
}

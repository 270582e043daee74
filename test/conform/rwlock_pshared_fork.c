/*
 * A process-shared reader-writer lock between threads of two processes: no increment is lost.
 * POSIX pthread_rwlockattr_setpshared.
 */
#include "conform.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_rwlock_t l;
    long x, y, bad;
};

static struct shared *s;

static void *
body(void *arg)
{
    int i;

    for (i = 0; i < 1000; i++) {
        if (i % 4 == 0) {
            pthread_rwlock_wrlock(&s->l);
            s->x++;
            s->y++;
        } else {
            pthread_rwlock_rdlock(&s->l);
            if (s->x != s->y)
                __atomic_add_fetch(&s->bad, 1, __ATOMIC_RELAXED);
        }
        pthread_rwlock_unlock(&s->l);
    }
    return arg;
}

static void
three(void)
{
    pthread_t t[3];
    int i;

    for (i = 0; i < 3; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 3; i++)
        join(t[i]);
}

int
main(void)
{
    pthread_rwlockattr_t a;
    int status = -1;
    pid_t pid;

    s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    RC(pthread_rwlock_init(&s->l, &a));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        three();
        _exit(conform_status());
    }
    three();
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("child's status %d, x %ld, y %ld, bad %ld\n", status, s->x, s->y, s->bad);
    return conform_status();
}

/*
 * A process-shared barrier of four: two threads of the parent, two of the child; fifty rounds.
 * POSIX pthread_barrierattr_setpshared.
 */
#include "conform.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_barrier_t b;
    int serial, arrived[50], bad;
};

static struct shared *s;

static void *
body(void *arg)
{
    int r;

    for (r = 0; r < 50; r++) {
        __atomic_add_fetch(&s->arrived[r], 1, __ATOMIC_SEQ_CST);
        if (pthread_barrier_wait(&s->b) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&s->serial, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&s->arrived[r], __ATOMIC_SEQ_CST) != 4)
            __atomic_add_fetch(&s->bad, 1, __ATOMIC_SEQ_CST);
    }
    return arg;
}

static void
two(void)
{
    pthread_t t = spawn(body, NULL), u = spawn(body, NULL);

    join(t);
    join(u);
}

int
main(void)
{
    pthread_barrierattr_t a;
    int status = -1;
    pid_t pid;

    s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OK(pthread_barrierattr_init(&a));
    OK(pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    RC(pthread_barrier_init(&s->b, &a, 4));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        two();
        _exit(conform_status());
    }
    two();
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("child's status %d, serial %d, violations %d\n", status, s->serial, s->bad);
    return conform_status();
}

/*
 * A process-shared semaphore in a shared mapping guards a counter between threads of two processes.
 * POSIX sem_init with pshared.
 */
#include "conform.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    sem_t s;
    long count;
};

static struct shared *s;

static void *
body(void *arg)
{
    int i;

    for (i = 0; i < 1000; i++) {
        while (sem_wait(&s->s) != 0)
            ;
        s->count++;
        sem_post(&s->s);
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
    int status = -1, v = -1;
    pid_t pid;

    s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SYS(sem_init(&s->s, 1, 1));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        three();
        _exit(conform_status());
    }
    three();
    CHECK(waitpid(pid, &status, 0) == pid);
    SYS(sem_getvalue(&s->s, &v));
    printf("child's status %d, count %ld, value %d\n", status, s->count, v);
    return conform_status();
}

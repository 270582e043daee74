/*
 * A process-shared condition variable and mutex in a shared mapping: parent and child, each in a thread,
 * take turns 500 times.  POSIX pthread_condattr_setpshared.
 */
#include "conform.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_mutex_t m;
    pthread_cond_t c;
    int turn;
    long moves;
};

static struct shared *s;

static void *
body(void *arg)
{
    int me = (int)(intptr_t)arg, i;

    for (i = 0; i < 500; i++) {
        pthread_mutex_lock(&s->m);
        while (s->turn != me)
            pthread_cond_wait(&s->c, &s->m);
        s->turn = !me;
        s->moves++;
        pthread_cond_signal(&s->c);
        pthread_mutex_unlock(&s->m);
    }
    return NULL;
}

int
main(void)
{
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    int status = -1;
    pid_t pid;

    s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    OK(pthread_mutexattr_init(&ma));
    OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_init(&ca));
    OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
    RC(pthread_mutex_init(&s->m, &ma));
    RC(pthread_cond_init(&s->c, &ca));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        join(spawn(body, (void *)1));
        _exit(conform_status());
    }
    join(spawn(body, (void *)0));
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("child's status %d, moves %ld\n", status, s->moves);
    RC(pthread_cond_destroy(&s->c));
    return conform_status();
}

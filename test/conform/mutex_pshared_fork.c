/*
 * A process-shared mutex in a shared mapping, between four threads of the parent and four of the child:
 * no increment is lost.  POSIX PTHREAD_PROCESS_SHARED.
 */
#include "conform.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_mutex_t m;
    long count;
};

static struct shared *s;

static void *
body(void *arg)
{
    int i;

    for (i = 0; i < 3000; i++) {
        pthread_mutex_lock(&s->m);
        s->count++;
        if (i % 500 == 0)
            sched_yield();
        pthread_mutex_unlock(&s->m);
    }
    return arg;
}

static void
four(void)
{
    pthread_t t[4];
    int i;

    for (i = 0; i < 4; i++)
        t[i] = spawn(body, NULL);
    for (i = 0; i < 4; i++)
        join(t[i]);
}

int
main(void)
{
    pthread_mutexattr_t a;
    int status = -1;
    pid_t pid;

    s = (struct shared *)mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s != MAP_FAILED);
    OK(pthread_mutexattr_init(&a));
    OK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    RC(pthread_mutex_init(&s->m, &a));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        four();
        _exit(conform_status());
    }
    four();
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("child's status %d, count %ld\n", status, s->count);
    RC(pthread_mutex_destroy(&s->m));
    return conform_status();
}

/*
 * pthread_atfork handlers run prepare in reverse, parent and child in order of registration, in the thread
 * that forks; a mutex taken in prepare is usable on both sides afterwards.  POSIX pthread_atfork.
 */
#include "conform.h"
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char trace[64];
static pthread_t forker;
static int elsewhere;
static unsigned long count;
static int stop;

static void
note(const char *s)
{
    strcat(trace, s);
    if (!pthread_equal(pthread_self(), forker))
        elsewhere = 1;
}

static void prepare1(void) { note(" prepare1"); pthread_mutex_lock(&mutex); }
static void parent1(void) { pthread_mutex_unlock(&mutex); note(" parent1"); }
static void child1(void) { pthread_mutex_unlock(&mutex); note(" child1"); }
static void prepare2(void) { note(" prepare2"); }
static void parent2(void) { note(" parent2"); }
static void child2(void) { note(" child2"); }

static void *
locker(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&mutex));
        count++;
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static void
forks(const char *from)
{
    int status = 0;
    pid_t pid;

    trace[0] = '\0';
    forker = pthread_self();
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        printf("child of %s:%s\n", from, trace);
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
        fflush(stdout);
        _exit(conform_status() || elsewhere);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("%s:%s, status %d, handlers %s\n", from, trace, status, elsewhere ? "elsewhere" : "in the forking thread");
}

static void *
body(void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < 5; i++)
        forks("thread");
    return NULL;
}

int
main(void)
{
    pthread_t t;

    OK(pthread_atfork(prepare1, parent1, child1));
    OK(pthread_atfork(prepare2, parent2, child2));
    OK(pthread_atfork(NULL, NULL, NULL));
    t = spawn(locker, NULL);
    forks("main");
    join(spawn(body, NULL));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(t);
    return conform_status();
}

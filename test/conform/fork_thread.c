/*
 * fork in a thread: the child has that thread only, with its thread-local variables, mutex state and memory;
 * it can lock, sleep, block in pipes, run stdio and exit with any status; the parent's threads go on.
 * POSIX fork.
 */
#include "conform.h"
#include <dirent.h>
#include <sys/wait.h>

static __thread int local = 5;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void *
busy(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        msleep(1);
    return NULL;
}

static int
tasks(void)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static void *
forker(void *arg)
{
    pthread_t me = pthread_self();
    pid_t parent = getpid(), pid;
    int status = 0, p[2];

    (void)arg;
    local = 42;
    OK(pthread_mutex_lock(&mutex));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        char c;

        printf("child: tasks %d, local %d, self %s, parent %s, mutex %s\n", tasks(), local,
               pthread_equal(me, pthread_self()) ? "same" : "different", getppid() == parent ? "right" : "wrong",
               errname(pthread_mutex_trylock(&mutex)));
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_lock(&mutex));
        msleep(5);
        CHECK(pipe(p) == 0);
        CHECK(write(p[1], "x", 1) == 1);
        CHECK(read(p[0], &c, 1) == 1);
        fflush(stdout);
        _exit(conform_status() ? 1 : 33);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("parent: child's status %d, local %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, local);
    OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

int
main(void)
{
    pthread_t b[3];
    int i;

    for (i = 0; i < 3; i++)
        b[i] = spawn(busy, NULL);
    join(spawn(forker, NULL));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < 3; i++)
        join(b[i]);
    return conform_status();
}

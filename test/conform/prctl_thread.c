/*
 * prctl state of threads: the name is each thread's own, PR_SET_NO_NEW_PRIVS and PR_SET_PDEATHSIG concern the
 * calling thread, and are inherited as documented; dumpable is the process's.  /proc/thread-self belongs to the
 * process.  prctl(2), proc(5).
 */
#include "conform.h"
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>

static sem_t step, back;

static void
show(const char *who)
{
    char name[16] = "";
    int sig = -1;

    CHECK(prctl(PR_GET_NAME, name) == 0 && prctl(PR_GET_PDEATHSIG, &sig) == 0);
    printf("%s: name %s, no_new_privs %d, pdeathsig %d, dumpable %d\n", who, name, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), sig,
           prctl(PR_GET_DUMPABLE));
}

static void *
leaf(void *arg)
{
    show((char *)arg);
    return arg;
}

static void
await(sem_t *s)
{
    while (sem_wait(s) != 0)
        ;
}

static void *
first(void *arg)
{
    char pid[40], path[PATH_MAX] = "", line[200] = "";
    FILE *f;

    CHECK(prctl(PR_SET_NAME, "first") == 0);
    SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SYS(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    show("first");
    join(spawn(leaf, "its child"));
    sem_post(&back);
    await(&step);
    show("first");
    CHECK(readlink("/proc/thread-self", path, sizeof path - 1) > 0);
    snprintf(pid, sizeof pid, "%d/task/", (int)getpid());
    printf("thread-self: %d\n", strncmp(path, pid, strlen(pid)) == 0);
    f = fopen("/proc/thread-self/stat", "r");
    printf("stat: %d\n", f != NULL && fgets(line, sizeof line, f) != NULL && strchr(line, ')') != NULL);
    if (f != NULL)
        fclose(f);
    return arg;
}

static void *
second(void *arg)
{
    await(&back);
    CHECK(prctl(PR_SET_NAME, "a name that is too long") == 0);
    show("second");
    SYS(prctl(PR_SET_DUMPABLE, 0));
    SYS(prctl(PR_SET_DUMPABLE, 1));
    sem_post(&step);
    return arg;
}

int
main(void)
{
    pthread_t a, b;

    sem_init(&step, 0, 0);
    sem_init(&back, 0, 0);
    CHECK(prctl(PR_SET_NAME, "main") == 0);
    b = spawn(second, NULL);
    a = spawn(first, NULL);
    join(a);
    join(b);
    show("main");
    join(spawn(leaf, "main's child"));
    return conform_status();
}

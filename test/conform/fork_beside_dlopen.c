/*
 * A process forks while other threads load and unload libraries, and walk along the list of them; the child makes threads, which
 * needs nothing of the loader's.  fork(2), dlopen(3).
 */
#include "conform.h"
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

enum { FORKS = 60 };

static volatile int over;

static void *
loader(void *name)
{
    while (!over) {
        void *h = dlopen(name, RTLD_NOW);

        if (h != NULL)
            dlclose(h);
    }
    return NULL;
}

static int
slow(struct dl_phdr_info *info, size_t size, void *sum)
{
    (void)size;
    *(unsigned long *)sum += info->dlpi_phnum;
    sched_yield();
    return 0;
}

static void *
walker(void *unused)
{
    unsigned long sum = 0;

    while (!over)
        dl_iterate_phdr(slow, &sum);
    return unused;
}

static void *
nothing(void *arg)
{
    return arg;
}

int
main(void)
{
    pthread_t t[3];
    int good = 0;

    t[0] = spawn(loader, (void *)(uintptr_t)"libutil.so.1");
    t[1] = spawn(loader, (void *)(uintptr_t)"libanl.so.1");
    t[2] = spawn(walker, NULL);
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            for (int k = 0; k < 3; k++)
                join(spawn(nothing, &pid));
            _exit(7);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    over = 1;
    for (int i = 0; i < 3; i++)
        join(t[i]);
    printf("%d of %d children\n", good, FORKS);
    return conform_status();
}

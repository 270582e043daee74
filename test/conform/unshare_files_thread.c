/*
 * A thread that calls unshare(CLONE_FILES) has a descriptor table of its own from then on: what it opens and closes
 * others do not see, nor it theirs; a thread that it creates shares it.  unshare(CLONE_FS) makes umask and working
 * directory its own.  Others go on with theirs.  unshare(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/stat.h>

static sem_t there, go;
static int common[2], closed, opened;

static void
await(sem_t *s)
{
    while (sem_wait(s) != 0)
        ;
}

static int
isopen(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void *
leaf(void *arg)
{
    printf("its child: closed one %d, its own %d\n", isopen(closed), isopen(*(int *)arg));
    return NULL;
}

static void *
alone(void *arg)
{
    int mine;
    char c = 0;

    SYS(unshare(CLONE_FILES));
    mine = fcntl(common[0], F_DUPFD, 600);
    SYS(close(closed));
    printf("thread: own %d, closed one %d\n", isopen(mine), isopen(closed));
    join(spawn(leaf, &mine));
    sem_post(&there);
    await(&go);
    printf("thread: main's new one %d\n", isopen(opened));
    CHECK(read(mine, &c, 1) == 1);      /* blocks: on a descriptor that only it has */
    printf("thread: read %c\n", c);
    CHECK(unshare(CLONE_FS) == 0);
    umask(077);
    CHECK(mkdir("sub", 0700) == 0 && chdir("sub") == 0);
    sem_post(&there);
    await(&go);
    return arg;
}

int
main(void)
{
    char path[PATH_MAX];
    pthread_t t;

    sem_init(&there, 0, 0);
    sem_init(&go, 0, 0);
    umask(022);
    CHECK(pipe(common) == 0);
    closed = fcntl(common[0], F_DUPFD, 700);
    t = spawn(alone, NULL);
    await(&there);
    printf("main: closed one %d, the thread's %d\n", isopen(closed), isopen(600));
    opened = fcntl(common[0], F_DUPFD, 800);
    sem_post(&go);
    msleep(20);
    CHECK(write(common[1], "p", 1) == 1);
    await(&there);
    printf("main: umask %o, in sub %d\n", umask(022), getcwd(path, sizeof path) != NULL && strstr(path, "/sub") != NULL);
    sem_post(&go);
    join(t);
    return conform_status();
}

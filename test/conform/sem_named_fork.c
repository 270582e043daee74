/*
 * A named semaphore between threads of two processes; opened twice it is one object; O_EXCL EEXIST, ENOENT for
 * an unknown name, unlink.  POSIX sem_open.
 */
#include "conform.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t *ping, *pong;
static int me;

static void *
body(void *arg)
{
    int i;

    for (i = 0; i < 200; i++) {
        if (me == 0) {
            sem_post(ping);
            CHECK(sem_wait(pong) == 0);
        } else {
            CHECK(sem_wait(ping) == 0);
            sem_post(pong);
        }
    }
    return arg;
}

int
main(void)
{
    char a[64], b[64];
    int status = -1, v = -1;
    sem_t *again;
    pid_t pid;

    snprintf(a, sizeof a, "/conform-ping-%d", (int)getpid());
    snprintf(b, sizeof b, "/conform-pong-%d", (int)getpid());
    ping = sem_open(a, O_CREAT | O_EXCL, 0600, 0);
    if (ping == SEM_FAILED && (errno == ENOSYS || errno == EACCES || errno == ENOENT))
        SKIP("no named semaphores: %s", errname(errno));
    pong = sem_open(b, O_CREAT | O_EXCL, 0600, 0);
    printf("opened %d\n", ping != SEM_FAILED && pong != SEM_FAILED);
    again = sem_open(a, O_CREAT | O_EXCL, 0600, 0);
    printf("exclusive: %s\n", again == SEM_FAILED ? errname(errno) : "opened");
    again = sem_open("/conform-no-such-semaphore", 0);
    printf("unknown: %s\n", again == SEM_FAILED ? errname(errno) : "opened");
    again = sem_open(a, 0);
    printf("same object: %d\n", again == ping);
    SYS(sem_close(again));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        me = 1;
        join(spawn(body, NULL));
        _exit(conform_status());
    }
    join(spawn(body, NULL));
    CHECK(waitpid(pid, &status, 0) == pid);
    SYS(sem_getvalue(ping, &v));
    printf("child's status %d, value %d\n", status, v);
    SYS(sem_close(ping));
    SYS(sem_close(pong));
    SYS(sem_unlink(a));
    SYS(sem_unlink(b));
    SYS(sem_unlink(a));
    return conform_status();
}

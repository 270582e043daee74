/*
 * seteuid, setegid, setuid, setgid, setresuid and setgroups change all threads, those that wait in a read, sleep,
 * compute or have just been created, too, seen by the kernel; setfsuid changes the calling one only.  In
 * a child, since there is no way back.  POSIX seteuid; nptl(7); setfsuid(2).
 */
#include "conform.h"
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { N = 4, NOBODY = 65534 };

static pthread_barrier_t b;
static int fd[2], stop, wrong;
static uid_t wantuid;
static gid_t wantgid;

static void
look(void)
{
    if ((uid_t)syscall(SYS_geteuid) != wantuid || (gid_t)syscall(SYS_getegid) != wantgid)
        __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void *
body(void *arg)
{
    volatile long x = 0;
    char c;

    for (int round = 0; round < 3; round++) {
        pthread_barrier_wait(&b);
        switch ((intptr_t)arg) {
        case 0: CHECK(read(fd[0], &c, 1) == 1); break;
        case 1:
            while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
                usleep(300);
            break;
        case 2:
            while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
                x++;
            break;
        default:
            while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
                msleep(2);
        }
        look();
        pthread_barrier_wait(&b);
    }
    return arg;
}

static void *
leaf(void *arg)
{
    look();
    return arg;
}

static void *
changer(void *arg)
{
    pthread_t t[N];

    pthread_barrier_init(&b, NULL, N + 1);
    for (intptr_t i = 0; i < N; i++)
        t[i] = spawn(body, (void *)i);
    for (int round = 0; round < 3; round++) {
        __atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
        pthread_barrier_wait(&b);
        msleep(20);
        if (round == 0) {
            printf("setfsuid: %d\n", setfsuid(NOBODY));
            printf("seteuid back and forth: %d %d %d\n", setegid(NOBODY), seteuid(NOBODY), seteuid(0));
            printf("setfsuid: now %d\n", setfsuid((uid_t)-1));
            wantgid = NOBODY;
        } else if (round == 1) {
            SYS(setgroups(0, NULL));
            SYS(setgid(NOBODY));
            SYS(setresuid(NOBODY, NOBODY, 0));
            wantuid = NOBODY;
        } else {
            SYS(seteuid(0));
            SYS(setuid(NOBODY));
            SYS(seteuid(0));
        }
        join(spawn(leaf, NULL));
        __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
        CHECK(write(fd[1], "x", 1) == 1);
        pthread_barrier_wait(&b);
        printf("round %d: wrong %d\n", round, wrong);
    }
    for (int i = 0; i < N; i++)
        join(t[i]);
    return arg;
}

int
main(void)
{
    pid_t pid;
    int st;

    if (geteuid() != 0)
        SKIP("not root");
    CHECK(pipe(fd) == 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        join(spawn(changer, NULL));
        look();
        printf("main: wrong %d\n", wrong);
        exit(conform_status());
    }
    CHECK(waitpid(pid, &st, 0) == pid);
    printf("status %d\n", st);
    return conform_status();
}

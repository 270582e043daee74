/*
 * A seccomp filter that a thread sets while others run concerns that thread and those that it creates
 * afterwards, wherever they wait and go on.  seccomp(2).
 */
#include "conform.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <stddef.h>

static pthread_barrier_t b;

static void
show(const char *who)
{
    long r = syscall(SYS_getpgid, 0);

    printf("%s: %s\n", who, r < 0 ? errname(errno) : "allowed");
}

static void *
leaf(void *arg)
{
    usleep(300);
    show((char *)arg);
    return arg;
}

static void *
filtered(void *arg)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = { 4, code };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
    show("thread");
    for (int i = 0; i < 20; i++)
        usleep(100);
    show("thread, later");
    join(spawn(leaf, "its child"));
    pthread_barrier_wait(&b);
    pthread_barrier_wait(&b);
    show("thread, at the end");
    return arg;
}

int
main(void)
{
    pthread_t t;

    pthread_barrier_init(&b, NULL, 2);
    t = spawn(filtered, NULL);
    pthread_barrier_wait(&b);
    show("main");
    for (int i = 0; i < 8; i++)
        join(spawn(leaf, "main's child"));
    pthread_barrier_wait(&b);
    join(t);
    show("main");
    return conform_status();
}

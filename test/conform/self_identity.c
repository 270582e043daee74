/*
 * What a program sees of itself is unchanged by threads: getpid, getppid, process group and session in
 * every thread, /proc/self/exe, its arguments, working directory and umask; pthread_self distinct, gettid
 * distinct and the pid in main. POSIX getpid; gettid(2), proc(5).
 */
#include "conform.h"
#include <libgen.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { N = 10 };

static pid_t pid, ppid, tid[N + 1];
static pthread_t self[N + 1];
static int wrong;

static void *
worker(void *arg)
{
    int i = (int)(intptr_t)arg;

    tid[i] = gettid();
    self[i] = pthread_self();
    start_wait();
    msleep(2);
    if (getpid() != pid || getppid() != ppid || getpgrp() != getpgid(pid) || syscall(SYS_getpid) != pid)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    if (gettid() != tid[i] || syscall(SYS_gettid) != tid[i] || !pthread_equal(self[i], pthread_self()))
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    start_wait();
    return NULL;
}

int
main(int argc, char **argv)
{
    char exe[4096] = "", cmd[4096] = "", cwd[4096], other[4096];
    pthread_t t[N];
    int i, j, same = 0;
    mode_t mask = umask(022);
    FILE *f;

    umask(mask);
    CHECK(getcwd(cwd, sizeof cwd) != NULL);
    pid = getpid();
    ppid = getppid();
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    tid[N] = gettid();
    self[N] = pthread_self();
    for (i = 0; i <= N; i++) {
        for (j = 0; j < i; j++)
            same += tid[i] == tid[j] || pthread_equal(self[i], self[j]);
    }
    printf("wrong %d, equal ids %d, main's tid is the pid: %s\n", wrong, same, tid[N] == pid ? "yes" : "no");
    CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    f = fopen("/proc/self/cmdline", "r");
    CHECK(f && fread(cmd, 1, sizeof cmd - 1, f) > 0);
    if (f)
        fclose(f);
    printf("exe %s, cmdline %s, argc %d, name %s\n", basename(exe), strcmp(cmd, argv[0]) == 0 ? "same" : "different",
           argc, program_invocation_short_name);
    CHECK(getcwd(other, sizeof other) != NULL);
    printf("directory %s, umask %s\n", strcmp(cwd, other) == 0 ? "same" : "different",
           umask(mask) == mask ? "same" : "different");
    return conform_status();
}

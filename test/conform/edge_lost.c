/* Somebody changes the process's epoll behind everybody's back, by system calls that nobody can intercept: threads which wait for
 * a pipe, a socket, a poll, and for a peer that hangs up must notice what comes all the same. (Natively there is no epoll, and nothing to break.) */
#include "conform.h"
#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { N = 4 };

static int fds[N][2];

static long
rawctl(long ep, long op, long fd)
{
    long r = SYS_epoll_ctl;
    struct epoll_event ev = { 0 };
    register long ev4 __asm__("r10") = (long)&ev;

    __asm__ volatile("syscall" : "+a"(r) : "D"(ep), "S"(op), "d"(fd), "r"(ev4) : "rcx", "r11", "memory");
    return r;
}

static void *
waits(void *arg)
{
    int i = *(int *)arg;
    struct pollfd p = { fds[i][0], POLLIN, 0 };
    char c = 0;
    ssize_t n;

    if (i == 2)
        CHECK(poll(&p, 1, -1) == 1);
    n = read(fds[i][0], &c, 1);
    printf("%d: read %zd '%c'\n", i, n, n > 0 ? c : '-');
    return NULL;
}

static void
forgetall(void)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;

    while ((e = readdir(d)) != NULL) {
        char path[300], to[100] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
        if (readlink(path, to, sizeof to - 1) < 0 || strcmp(to, "anon_inode:[eventpoll]") != 0)
            continue;
        for (int i = 0; i < N; i++)
            rawctl(atoi(e->d_name), EPOLL_CTL_DEL, fds[i][0]);
    }
    closedir(d);
}

int
main(void)
{
    pthread_t th[N];
    int ids[N] = { 0, 1, 2, 3 };

    CHECK(pipe(fds[0]) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds[1]) == 0 && pipe(fds[2]) == 0 &&
          pipe(fds[3]) == 0);
    for (int i = 0; i < N; i++) {
        CHECK(pthread_create(&th[i], NULL, waits, &ids[i]) == 0);
        usleep(50000);
    }
    forgetall();
    for (int i = 0; i < N; i++) {
        if (i < 3)
            CHECK(write(fds[i][1], "x", 1) == 1);
        else
            close(fds[i][1]);
        pthread_join(th[i], NULL);
    }
    return conform_status();
}

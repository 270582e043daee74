/*
 * Other names for the same functions, which binaries really import: with underscores, checked ones of -D_FORTIFY_SOURCE, for
 * large files. They go together with the usual ones (a lock taken by one name and let go by the other), and threads that wait
 * in them need no kernel thread each.  nm -D of libc.
 */
#include "conform.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

enum { MANY = 42 };

/* The name's function; __nanosleep has a version of its own. */
static void *
name(const char *s)
{
    void *f = dlvsym(RTLD_DEFAULT, s, strstr(s, "_2") != NULL ? "GLIBC_2.7" : strstr(s, "_chk") != NULL ? "GLIBC_2.4" : "GLIBC_2.2.5");

    if (f == NULL)
        f = dlsym(RTLD_DEFAULT, s);

    printf("%s: %s\n", s, f != NULL ? "there" : "missing");
    return f;
}

#define NAME(ret, n, params) static ret(*n##_) params
NAME(int, __pthread_mutex_lock, (pthread_mutex_t *));
NAME(int, __pthread_mutex_trylock, (pthread_mutex_t *));
NAME(int, __pthread_mutex_unlock, (pthread_mutex_t *));
NAME(int, __pthread_rwlock_wrlock, (pthread_rwlock_t *));
NAME(int, __pthread_rwlock_unlock, (pthread_rwlock_t *));
NAME(int, __pthread_once, (pthread_once_t *, void (*)(void)));
NAME(ssize_t, __read, (int, void *, size_t));
NAME(ssize_t, __write, (int, const void *, size_t));
NAME(ssize_t, __send, (int, const void *, size_t, int));
NAME(int, __poll, (struct pollfd *, nfds_t, int));
NAME(int, __select, (int, fd_set *, fd_set *, fd_set *, struct timeval *));
NAME(int, __nanosleep, (const struct timespec *, struct timespec *));
NAME(int, __open_2, (const char *, int));
NAME(int, __open64_2, (const char *, int));
NAME(int, __openat_2, (int, const char *, int));
NAME(int, __fcntl, (int, int, ...));
NAME(int, __close, (int));
NAME(ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t));
NAME(pid_t, __fork, (void));
NAME(pid_t, __waitpid, (pid_t, int *, int));

#define FIND(n) *(void **)&n##_ = name(#n)

static int p[MANY][2], q[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int counter, written, onces;

static void
initialize(void)
{
    msleep(5);
    onces++;
}

static void *
locker(void *arg)
{
    int odd = arg != NULL;

    for (int i = 0; i < 2000; i++) {
        (odd ? __pthread_mutex_lock_ : pthread_mutex_lock)(&mutex);
        counter++;
        (i & 1 ? __pthread_mutex_unlock_ : pthread_mutex_unlock)(&mutex);
        if (i % 100 == 0)
            sched_yield();
        (odd ? pthread_rwlock_wrlock : __pthread_rwlock_wrlock_)(&rw);
        written++;
        (i & 1 ? pthread_rwlock_unlock : __pthread_rwlock_unlock_)(&rw);
    }
    (odd ? __pthread_once_ : pthread_once)(&once, initialize);
    return NULL;
}

static void *
waiter(void *arg)
{
    int i = (int)(intptr_t)arg, fd = p[i][0];
    struct pollfd pfd = { fd, POLLIN, 0 };
    struct iovec v;
    fd_set set;
    char c = 0;

    v.iov_base = &c;
    v.iov_len = 1;
    switch (i % 4) {
    case 0: break;
    case 1: CHECK(__poll_(&pfd, 1, -1) == 1); break;
    case 2:
        FD_ZERO(&set);
        FD_SET(fd, &set);
        CHECK(__select_(fd + 1, &set, NULL, NULL, NULL) == 1);
        break;
    default: CHECK(preadv2(fd, &v, 1, -1, 0) == 1); return NULL;
    }
    CHECK(__read_(fd, &c, 1) == 1);
    return NULL;
}

static void *
writer(void *arg)               /* into a full pipe */
{
    struct iovec v = { (void *)(uintptr_t)"a", 1 };

    CHECK(arg != NULL ? pwritev2(q[1], &v, 1, -1, 0) == 1 : __write_(q[1], "a", 1) == 1);
    return NULL;
}

static void
many(void)
{
    static char buf[65536];
    pthread_t t[MANY], u[2];
    struct timespec ts = { 0, 1000000 };

    CHECK(pipe(q) == 0 && write(q[1], buf, sizeof buf) == (ssize_t)sizeof buf);
    for (int i = 0; i < MANY; i++) {
        CHECK(pipe(p[i]) == 0);
        t[i] = spawn(waiter, (void *)(intptr_t)i);
    }
    u[0] = spawn(writer, NULL);
    u[1] = spawn(writer, &ts);
    CHECK(__nanosleep_(&ts, NULL) == 0);
    msleep(50);
    if (getenv("GOMAXPROCS") != NULL)
        CHECK(kernelthreads() < MANY / 2);
    for (int i = 0; i < MANY; i++)
        CHECK(__write_(p[i][1], "x", 1) == 1);
    for (int i = 0; i < MANY; i++)
        join(t[i]);
    CHECK(read(q[0], buf, 10000) == 10000);
    join(u[0]);
    join(u[1]);
    printf("%d and 2 waited\n", MANY);
}

static void *
lockfile(void *arg)
{
    int fd = *(int *)arg;

    SYS(lockf(fd, F_TEST, 0));
    SYS(lockf(fd, F_LOCK, 0));
    SYS(lockf(fd, F_TLOCK, 10));
    SYS(lockf(fd, F_ULOCK, 0));
    SYS(lockf(fd, 77, 0));
    SYS(lockf(-1, F_LOCK, 0));
    return NULL;
}

static void
files(void)
{
    char buf[8];
    int fd, s[2], status;
    pid_t pid;

    fd = open("conform.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(write(fd, "12345678", 8) == 8);
    close(fd);
    fd = __open_2_("conform.data", O_RDWR);
    SYS(__pread_chk_(fd, buf, 8, 2, sizeof buf));
    SYS(__close_(fd));
    fd = __openat_2_(AT_FDCWD, "conform.data", O_RDONLY);
    SYS(__read_(fd, buf, 8));
    SYS(__close_(fd));
    fd = __open64_2_("conform.data", O_RDWR);
    SYS(__fcntl_(fd, F_GETFD));
    SYS(__fcntl_(fd, F_SETFD, FD_CLOEXEC));
    SYS(__fcntl_(fd, F_GETFD));
    join(spawn(lockfile, &fd));
    SYS(fallocate64(fd, 0, 0, 100) == 0 || errno == EOPNOTSUPP ? 0 : -1);
    SYS(sync_file_range(fd, 0, 0, 0));
    SYS(tcdrain(fd));
    unlink("conform.data");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    SYS(__send_(s[0], "abc", 3, 0));
    SYS(__pthread_mutex_trylock_(&mutex));
    SYS(__pthread_mutex_trylock_(&mutex));
    fflush(stdout);
    pid = __fork_();
    if (pid == 0)
        _exit(5);
    CHECK(__waitpid_(pid, &status, 0) == pid);
    printf("child: %d\n", WEXITSTATUS(status));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        CHECK(freopen("/dev/null", "w", stderr) != NULL);
        signal(SIGABRT, SIG_DFL);
        join(spawn(lockfile, &fd));     /* threads, then a wrong call */
        fflush(stdout);
        __open_2_("conform.data", O_RDWR | O_CREAT);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    printf("wrong open: signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

int
main(void)
{
    pthread_t t[6];

    FIND(__pthread_mutex_lock);
    FIND(__pthread_mutex_trylock);
    FIND(__pthread_mutex_unlock);
    FIND(__pthread_rwlock_wrlock);
    FIND(__pthread_rwlock_unlock);
    FIND(__pthread_once);
    FIND(__read);
    FIND(__write);
    FIND(__send);
    FIND(__poll);
    FIND(__select);
    FIND(__nanosleep);
    FIND(__open_2);
    FIND(__open64_2);
    FIND(__openat_2);
    FIND(__fcntl);
    FIND(__close);
    FIND(__pread_chk);
    FIND(__fork);
    FIND(__waitpid);
    for (int i = 0; i < 6; i++)
        t[i] = spawn(locker, i & 1 ? &once : NULL);
    for (int i = 0; i < 6; i++)
        join(t[i]);
    printf("%d %d %d\n", counter, written, onces);
    many();
    files();
    return conform_status();
}

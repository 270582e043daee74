/*
 * sendfile, splice, tee and vmsplice to and from slow peers: threads that wait in them need no kernel thread each, nothing is
 * lost or sent twice, and handlers, time limits, closed peers, O_NONBLOCK and cancellation end them as they do natively.
 * splice(2), sendfile(2), pthreads(7).
 */
#include "conform.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

enum { MANY = 40, SIZE = 3000000, PIPE = 65536 };

static int file, fd[MANY][2], fill[MANY][2], empty[MANY][2], other[MANY][2];
static unsigned sum;

static unsigned
add(unsigned s, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s = s * 31 + (unsigned char)p[i];
    return s;
}

static void
connected(int f[2])
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sa;
    int l = socket(AF_INET, SOCK_STREAM, 0), small = 30000;

    CHECK(setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    CHECK(bind(l, (void *)&sa, sizeof sa) == 0 && listen(l, 1) == 0 && getsockname(l, (void *)&sa, &len) == 0);
    f[0] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(setsockopt(f[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    CHECK(connect(f[0], (void *)&sa, sizeof sa) == 0);
    f[1] = accept(l, NULL, NULL);
    CHECK(f[1] >= 0);
    close(l);
}

static void *
sender(void *arg)
{
    off_t off = 0;

    return (void *)(intptr_t)sendfile(*(int *)arg, file, &off, SIZE);
}

/* Reads n bytes; their checksum. */
static unsigned
drain(int f, size_t n)
{
    static char buf[50000];
    unsigned s = 0;

    while (n > 0) {
        ssize_t r = read(f, buf, n < sizeof buf ? n : sizeof buf);

        CHECK(r > 0);
        if (r <= 0)
            break;
        s = add(s, buf, (size_t)r);
        n -= (size_t)r;
    }
    return s;
}

/* From an empty pipe or a socket that nobody writes to; each to a pipe of its own, which the kernel locks meanwhile. */
static void *
frompipe(void *arg)
{
    return (void *)(intptr_t)splice(empty[(intptr_t)arg][0], NULL, other[(intptr_t)arg][1], NULL, 100, 0);
}

static void *
fromsocket(void *arg)
{
    return (void *)(intptr_t)splice(fd[(intptr_t)arg][0], NULL, other[(intptr_t)arg][1], NULL, 100, 0);
}

static void *
copy(void *arg)
{
    return (void *)(intptr_t)tee(empty[(intptr_t)arg][0], other[(intptr_t)arg][1], 100, 0);
}

static void *
topipe(void *arg)               /* a full pipe */
{
    struct iovec v = { (void *)(uintptr_t)"abc", 3 };

    return (void *)(intptr_t)vmsplice(fill[(intptr_t)arg][1], &v, 1, 0);
}

static void
many(void)
{
    static char buf[PIPE];
    pthread_t t[MANY], u[MANY];
    int good = 0;

    for (int i = 0; i < MANY; i++) {
        connected(fd[i]);
        t[i] = spawn(sender, &fd[i][0]);
        CHECK(pipe(fill[i]) == 0 && pipe(empty[i]) == 0 && pipe(other[i]) == 0);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(write(fill[i][1], buf, PIPE) == PIPE);
    for (intptr_t i = 0; i < MANY; i++)
        u[i] = spawn(i % 4 == 0 ? frompipe : i % 4 == 1 ? fromsocket : i % 4 == 2 ? copy : topipe, (void *)i);
    msleep(100);
    if (getenv("GOMAXPROCS") != NULL)
        CHECK(kernelthreads() < MANY / 2);
    for (int i = 0; i < MANY; i++)
        good += drain(fd[i][1], SIZE) == sum;
    for (int i = 0; i < MANY; i++)
        good += (intptr_t)join(t[i]) == SIZE;
    for (int i = 0; i < MANY; i++) {
        switch (i % 4) {
        case 1: CHECK(write(fd[i][1], "xyz", 3) == 3); break;
        case 3: drain(fill[i][0], PIPE); break;
        default: CHECK(write(empty[i][1], "xyz", 3) == 3);
        }
        good += (intptr_t)join(u[i]) == 3;
    }
    printf("%d of %d good\n", good, 3 * MANY);
}

/* pipe to socket: all that is in the pipe */
static void *
relay(void *arg)
{
    int *f = (int *)arg;
    ssize_t n, all = 0;

    while ((n = splice(f[0], NULL, f[1], NULL, 1000000, 0)) > 0)
        all += n;
    CHECK(n == 0);
    return (void *)all;
}

static void *
writer(void *arg)
{
    off_t off = 0;
    ssize_t n;

    while ((n = sendfile(*(int *)arg, file, &off, SIZE - (size_t)off)) > 0)
        ;
    CHECK(n == 0 && off == SIZE);
    close(*(int *)arg);
    return NULL;
}

static void
relayed(void)
{
    int p[2], s[2], both[2];
    pthread_t t, u;
    unsigned got;

    CHECK(pipe(p) == 0);
    connected(s);
    both[0] = p[0];
    both[1] = s[0];
    t = spawn(writer, &p[1]);
    u = spawn(relay, both);
    got = drain(s[1], SIZE);
    join(t);
    printf("file to pipe to socket: %ld, %s\n", (long)(intptr_t)join(u), got == sum ? "same" : "different");
}

static volatile int done;

static const char *
verdict(ssize_t n, int e)
{
    return n == SIZE ? "all" : n > 0 ? "part" : n == 0 ? "nothing" : errname(e);
}

static void *
told(void *arg)
{
    off_t off = 0;
    ssize_t n;

    errno = 0;
    n = sendfile(*(int *)arg, file, &off, SIZE);
    done = 1;
    printf("sendfile: %s, offset %s\n", verdict(n, errno), off == (n > 0 ? n : 0) ? "right" : "wrong");
    return NULL;
}

/* Until a handler has ended the call, which the thread may not have come to yet. */
static void
interrupt(int s)
{
    pthread_t t;

    done = 0;
    t = spawn(told, (void *)&s);
    while (!done) {
        msleep(30);
        pthread_kill(t, SIGUSR1);
    }
    join(t);
}

/* Sends until nothing goes any more. */
static void
fillup(int s)
{
    int mode = fcntl(s, F_GETFL);

    fcntl(s, F_SETFL, mode | O_NONBLOCK);
    for (int n = 0; n < 3; n++) {
        off_t off = 0;

        while (sendfile(s, file, &off, SIZE) > 0)
            n = 0;
        CHECK(errno == EAGAIN);
        msleep(20);
    }
    fcntl(s, F_SETFL, mode);
}

static void
nothing(int sig)
{
    (void)sig;
}

static void *
spliced(void *arg)
{
    return (void *)(intptr_t)splice(*(int *)arg, NULL, other[0][1], NULL, 100, 0);
}

static void *
notcanceled(void *arg)
{
    off_t off = 0;
    ssize_t n = sendfile(*(int *)arg, file, &off, SIZE);

    printf("cancelled in sendfile: %s\n", verdict(n, errno));
    pthread_testcancel();
    return NULL;
}

static void
ends(void)
{
    struct sigaction sa = { .sa_handler = nothing };
    struct timeval tv = { 0, 30000 };
    struct iovec v = { (void *)(uintptr_t)"abc", 3 };
    int s[2], p[2], mode, same;
    pthread_t t;

    sigaction(SIGUSR1, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
    connected(s);
    interrupt(s[0]);
    fillup(s[0]);
    interrupt(s[0]);
    CHECK(setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) == 0);
    told(&s[0]);                /* a time limit */
    tv.tv_usec = 0;
    CHECK(setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) == 0);
    mode = fcntl(s[0], F_GETFL);
    fcntl(s[0], F_SETFL, mode | O_NONBLOCK);
    told(&s[0]);
    fcntl(s[0], F_SETFL, mode);
    t = spawn(told, &s[0]);     /* the peer goes away, with data that it has not read */
    msleep(30);
    close(s[1]);
    join(t);
    told(&s[0]);
    close(s[0]);

    CHECK(pipe(p) == 0);
    t = spawn(spliced, &p[0]);
    msleep(20);
    pthread_cancel(t);
    printf("cancelled in splice: %s\n", join(t) == PTHREAD_CANCELED ? "yes" : "no");
    connected(s);
    t = spawn(notcanceled, &s[0]);
    msleep(20);
    pthread_cancel(t);
    msleep(20);
    same = drain(s[1], SIZE) == sum;
    printf("%s\n", join(t) == PTHREAD_CANCELED ? "then cancelled" : "not cancelled");
    printf("%s\n", same ? "same" : "different");
    t = spawn(spliced, &p[0]);
    msleep(20);
    close(p[1]);                /* the last writer */
    printf("splice at the end: %ld\n", (long)(intptr_t)join(t));
    close(p[0]);
    CHECK(pipe(p) == 0);
    close(p[0]);
    SYS(vmsplice(p[1], &v, 1, 0));
    SYS(splice(fill[0][0], NULL, p[1], NULL, 1, 0));
    SYS(tee(file, p[1], 1, 0));
    SYS(sendfile(p[1], file, NULL, 10));
    SYS(sendfile(file, p[1], NULL, 10));
    SYS(sendfile(-1, file, NULL, 10));
    SYS(sendfile(p[1], -1, NULL, 0));
}

int
main(void)
{
    static char data[SIZE];

    for (unsigned i = 0; i < SIZE; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    sum = add(0, data, SIZE);
    file = open("conform.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(write(file, data, SIZE) == SIZE);
    unlink("conform.data");
    many();
    relayed();
    ends();
    return conform_status();
}

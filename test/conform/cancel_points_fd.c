/*
 * Every cancellation point that blocks on a descriptor: a thread that waits in it is cancelled, its cleanup
 * handler runs, and the next user of the descriptor is not disturbed.  POSIX 2.9.5.2.
 */
#include "conform.h"
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

static int empty[2], full[2], sv[2], fullsv[2], listener, backlog, locked, ep, cleaned;
static pid_t holder;
static char big[1 << 20], byte;
static struct iovec iov = { &byte, 1 }, bigiov = { big, sizeof big };
static struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 }, bigmsg = { .msg_iov = &bigiov, .msg_iovlen = 1 };
static struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "full" };

static void do_accept(void) { accept(listener, NULL, NULL); }
static void do_accept4(void) { accept4(listener, NULL, NULL, SOCK_CLOEXEC); }
static void do_connect(void) { connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof name); }
static void do_read(void) { CHECK(read(empty[0], &byte, 1) == 9); }
static void do_readv(void) { CHECK(readv(empty[0], &iov, 1) == 9); }
static void do_recv(void) { recv(sv[0], &byte, 1, 0); }
static void do_recvfrom(void) { recvfrom(sv[0], &byte, 1, 0, NULL, NULL); }
static void do_recvmsg(void) { recvmsg(sv[0], &msg, 0); }
static void do_write(void) { CHECK(write(full[1], big, sizeof big) == 9); }
static void do_writev(void) { CHECK(writev(full[1], &bigiov, 1) == 9); }
static void do_send(void) { send(fullsv[0], big, sizeof big, 0); }
static void do_sendto(void) { sendto(fullsv[0], big, sizeof big, 0, NULL, 0); }
static void do_sendmsg(void) { sendmsg(fullsv[0], &bigmsg, 0); }
static void do_open(void) { open("fifo", O_RDONLY); }
static void do_openw(void) { open("fifo", O_WRONLY); }
static void do_poll(void) { poll(&(struct pollfd){ empty[0], POLLIN, 0 }, 1, -1); }
static void do_ppoll(void) { ppoll(&(struct pollfd){ empty[0], POLLIN, 0 }, 1, NULL, &(sigset_t){ { 0 } }); }

static void
do_select(void)
{
    fd_set s;

    FD_ZERO(&s);
    FD_SET(empty[0], &s);
    select(empty[0] + 1, &s, NULL, NULL, NULL);
}

static void
do_pselect(void)
{
    fd_set s;

    FD_ZERO(&s);
    FD_SET(empty[0], &s);
    pselect(empty[0] + 1, &s, NULL, NULL, NULL, &(sigset_t){ { 0 } });
}

static void
do_epoll(void)
{
    struct epoll_event ev;

    epoll_wait(ep, &ev, 1, -1);
}

static void
do_setlkw(void)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    fcntl(locked, F_OFD_SETLKW, &l);
}

static void
do_fcntl(void)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    fcntl(locked, F_SETLKW, &l);
}

static void do_lockf(void) { CHECK(lockf(locked, F_LOCK, 0) == 9); }

static const struct { const char *name; void (*fn)(void); } points[] = {
    { "accept", do_accept }, { "accept4", do_accept4 }, { "connect", do_connect }, { "read", do_read }, { "readv", do_readv },
    { "recv", do_recv }, { "recvfrom", do_recvfrom }, { "recvmsg", do_recvmsg }, { "write", do_write }, { "writev", do_writev },
    { "send", do_send }, { "sendto", do_sendto }, { "sendmsg", do_sendmsg }, { "open for reading", do_open },
    { "open for writing", do_openw }, { "poll", do_poll }, { "ppoll", do_ppoll }, { "select", do_select },
    { "pselect", do_pselect }, { "epoll_wait", do_epoll }, { "fcntl F_OFD_SETLKW", do_setlkw }, { "fcntl F_SETLKW", do_fcntl },
    { "lockf", do_lockf },
};

static void
cleanup(void *arg)
{
    (void)arg;
    cleaned++;
}

static void *
body(void *arg)
{
    pthread_cleanup_push(cleanup, NULL);
    for (;;)
        points[(intptr_t)arg].fn();
    pthread_cleanup_pop(0);
    return NULL;
}

/* The locked file is held by a child, since record locks are the process's. */
static void
prepare(void)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int up[2], s;

    CHECK(pipe(empty) == 0 && pipe(full) == 0 && pipe(up) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fullsv) == 0);
    fcntl(full[1], F_SETFL, O_NONBLOCK);
    while (write(full[1], big, sizeof big) > 0)
        ;
    fcntl(full[1], F_SETFL, 0);
    while (send(fullsv[0], big, sizeof big, MSG_DONTWAIT) > 0)
        ;
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX, .sun_path = "open" }, sizeof name) == 0);
    CHECK(listen(listener, 5) == 0);
    backlog = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(backlog, (struct sockaddr *)&name, sizeof name) == 0 && listen(backlog, 0) == 0);
    s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    while (connect(s, (struct sockaddr *)&name, sizeof name) == 0)
        s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ep = epoll_create1(0);
    CHECK(mkfifo("fifo", 0600) == 0);
    locked = open("locked", O_RDWR | O_CREAT, 0600);
    holder = fork();
    if (holder == 0) {
        alarm(100);             /* it dies with us, or then */
        if (fcntl(locked, F_SETLKW, &l) == 0 && write(up[1], "l", 1) == 1)
            pause();
        _exit(0);
    }
    CHECK(read(up[0], &byte, 1) == 1);
}

int
main(void)
{
    pthread_t t;
    size_t i;

    prepare();
    for (i = 0; i < sizeof points / sizeof points[0]; i++) {
        cleaned = 0;
        t = spawn(body, (void *)i);
        msleep(15);
        OK(pthread_cancel(t));
        printf("%s: canceled %d, ", points[i].name, join(t) == PTHREAD_CANCELED);
        printf("cleaned %d\n", cleaned);
    }
    kill(holder, SIGKILL);
    CHECK(waitpid(holder, NULL, 0) == holder);
    return conform_status();
}

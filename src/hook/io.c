/* Reading, writing, connecting, polling, and the life of file descriptors. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <stdarg.h>

/* name(args) while passive, the io_ function otherwise; all of these are cancellation points. */
#define IO(ret, name, params, args, call) \
    HOOK ret \
    name params \
    { \
        if (unlikely(!active)) \
            return real.name args; \
        cancelpoint(); \
        return (ret)sysret(interruptedl(call)); \
    }

static inline long
interruptedl(long r)
{
    if (unlikely(r == -EINTR))
        cancelpoint();
    return r;
}

IO(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n), io_read(fd, buf, n))
IO(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n), io_write(fd, buf, n))
IO(ssize_t, readv, (int fd, const struct iovec *iov, int n), (fd, iov, n), io_readv(fd, iov, n))
IO(ssize_t, writev, (int fd, const struct iovec *iov, int n), (fd, iov, n), io_writev(fd, iov, n))
IO(ssize_t, recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags),
   io_recvfrom(fd, buf, n, flags, NULL, NULL))
IO(ssize_t, recvfrom, (int fd, void *buf, size_t n, int flags, struct sockaddr *sa, socklen_t *len),
   (fd, buf, n, flags, sa, len), io_recvfrom(fd, buf, n, flags, sa, len))
IO(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags), io_recvmsg(fd, msg, flags))
IO(ssize_t, send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags),
   io_sendto(fd, buf, n, flags, NULL, 0))
IO(ssize_t, sendto, (int fd, const void *buf, size_t n, int flags, const struct sockaddr *sa, socklen_t len),
   (fd, buf, n, flags, sa, len), io_sendto(fd, buf, n, flags, sa, len))
IO(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags), io_sendmsg(fd, msg, flags))
IO(int, recvmmsg, (int fd, struct mmsghdr *vec, unsigned n, int flags, struct timespec *ts), (fd, vec, n, flags, ts),
   io_recvmmsg(fd, vec, n, flags, ts))
IO(int, sendmmsg, (int fd, struct mmsghdr *vec, unsigned n, int flags), (fd, vec, n, flags),
   io_sendmmsg(fd, vec, n, flags))
IO(int, connect, (int fd, const struct sockaddr *sa, socklen_t len), (fd, sa, len), io_connect(fd, sa, len))

IO(int, accept, (int fd, struct sockaddr *sa, socklen_t *len), (fd, sa, len), io_accept(fd, sa, len, 0))
IO(int, accept4, (int fd, struct sockaddr *sa, socklen_t *len, int flags), (fd, sa, len, flags),
   io_accept(fd, sa, len, flags))

/* libc's own wrappers, whose read and write are not ours. */
HOOK int
eventfd_read(int fd, eventfd_t *value)
{
    if (unlikely(!active))
        return real.eventfd_read(fd, value);
    return read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}

HOOK int
eventfd_write(int fd, eventfd_t value)
{
    if (unlikely(!active))
        return real.eventfd_write(fd, value);
    return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

/* The fortified names (-D_FORTIFY_SOURCE): the compiler's check of the buffer's size first. */
extern _Noreturn void __chk_fail(void);

HOOK ssize_t
__read_chk(int fd, void *buf, size_t n, size_t size)
{
    if (n > size)
        __chk_fail();
    return read(fd, buf, n);
}

HOOK ssize_t
__recv_chk(int fd, void *buf, size_t n, size_t size, int flags)
{
    if (n > size)
        __chk_fail();
    return recv(fd, buf, n, flags);
}

HOOK ssize_t
__recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags, struct sockaddr *sa, socklen_t *len)
{
    if (n > size)
        __chk_fail();
    return recvfrom(fd, buf, n, flags, sa, len);
}

/* ---- poll and select ---- */

HOOK int
poll(struct pollfd *fds, nfds_t n, int ms)
{
    int64_t ns = ms < 0 ? -1 : ms * INT64_C(1000000);

    if (unlikely(!active))
        return real.poll(fds, n, ms);
    cancelpoint();
    return (int)sysret(interruptedl(poll_poll(fds, n, &ns)));
}

static int64_t
spec(const struct timespec *ts)
{
    if (ts == NULL)
        return -1;
    return ts->tv_sec > INT64_MAX / 1000000000 - 1 ? INT64_MAX : ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static bool
badspec(const struct timespec *ts)
{
    return ts != NULL && (ts->tv_sec < 0 || ts->tv_nsec < 0 || ts->tv_nsec >= 1000000000);
}

/* With a signal mask: the kernel's, whose swap of masks is atomic. */
HOOK int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *set)
{
    int64_t ns;
    struct timespec copy;
    sigset_t own;

    if (unlikely(!active))
        return real.ppoll(fds, n, ts, set);
    cancelpoint();
    if (badspec(ts))
        return (int)sysret(-EINVAL);
    if ((set = signal_callmask(set, &own)) != NULL) {
        if (ts != NULL)
            copy = *ts;
        return (int)sysret(interruptedl(
            signal_maskedcall(set, SYS_ppoll, A(fds), A(n), ts != NULL ? A(&copy) : 0, A(set), 8, 0)));
    }
    ns = spec(ts);
    return (int)sysret(interruptedl(poll_poll(fds, n, &ns)));
}

HOOK int
__poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t size)
{
    if (n > size / sizeof *fds)
        __chk_fail();
    return poll(fds, n, ms);
}

HOOK int
__ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *set, size_t size)
{
    if (n > size / sizeof *fds)
        __chk_fail();
    return ppoll(fds, n, ts, set);
}

HOOK int
select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *tv)
{
    int64_t ns = -1;
    long r;

    if (unlikely(!active))
        return real.select(n, rd, wr, ex, tv);
    cancelpoint();
    if (tv != NULL) {
        if (tv->tv_sec < 0 || tv->tv_usec < 0)
            return (int)sysret(-EINVAL);
        ns = tv->tv_sec > INT64_MAX / 1000000000 - 1000 ? INT64_MAX : tv->tv_sec * 1000000000 + tv->tv_usec * 1000;
    }
    r = poll_select(n, rd, wr, ex, &ns);
    if (tv != NULL && ns >= 0) {        /* Linux writes back what is left */
        tv->tv_sec = ns / 1000000000;
        tv->tv_usec = ns % 1000000000 / 1000;
    }
    return (int)sysret(interruptedl(r));
}

HOOK int
pselect(int n, fd_set *rd, fd_set *wr, fd_set *ex, const struct timespec *ts, const sigset_t *set)
{
    struct timespec copy;
    sigset_t own;
    struct { const sigset_t *set; size_t size; } data = { signal_callmask(set, &own), 8 };
    int64_t ns;

    if (unlikely(!active))
        return real.pselect(n, rd, wr, ex, ts, set);
    cancelpoint();
    if (badspec(ts))
        return (int)sysret(-EINVAL);
    if (set != NULL) {
        if (ts != NULL)
            copy = *ts;
        return (int)sysret(interruptedl(signal_maskedcall(data.set, SYS_pselect6, n, A(rd), A(wr), A(ex),
                                                   ts != NULL ? A(&copy) : 0, A(&data))));
    }
    ns = spec(ts);
    return (int)sysret(interruptedl(poll_select(n, rd, wr, ex, &ns)));
}

IO(int, epoll_wait, (int fd, struct epoll_event *ev, int n, int ms), (fd, ev, n, ms), poll_epoll(fd, ev, n, ms))

HOOK int
epoll_pwait(int fd, struct epoll_event *ev, int n, int ms, const sigset_t *set)
{
    sigset_t own;

    if (unlikely(!active))
        return real.epoll_pwait(fd, ev, n, ms, set);
    cancelpoint();
    if (set == NULL)
        return (int)sysret(interruptedl(poll_epoll(fd, ev, n, ms)));
    set = signal_callmask(set, &own);
    return (int)sysret(interruptedl(signal_maskedcall(set, SYS_epoll_pwait, fd, A(ev), n, ms, A(set), 8)));
}

HOOK int
epoll_pwait2(int fd, struct epoll_event *ev, int n, const struct timespec *ts, const sigset_t *set)
{
    sigset_t own;

    if (unlikely(!active))
        return real.epoll_pwait2(fd, ev, n, ts, set);
    cancelpoint();
    set = signal_callmask(set, &own);
    return (int)sysret(interruptedl(signal_maskedcall(set, SYS_epoll_pwait2, fd, A(ev), n, A(ts), A(set), 8)));
}

/* ---- the life of fds ---- */

/* The program does not know our fds; for it they are not open. */
static bool
hidden(int fd)
{
    return unlikely(netpollours(fd));
}

HOOK int
close(int fd)
{
    if (unlikely(!active))
        return real.close(fd);
    cancelpoint();
    if (hidden(fd))
        return (int)sysret(-EBADF);
    io_closing(fd);
    return (int)sysret(io_syscall(0, SYS_close, fd, 0, 0, 0, 0, 0));
}

static void
replacing(int old, int fd)
{
    if (old == fd)
        return;
    if (hidden(fd)) {
        struct glist list = { 0 };
        struct g *gp = pin();

        netpollmove(fd, &list);
        unpin(gp);
        readylist(&list);
    }
    io_closing(fd);
}

HOOK int
dup2(int old, int fd)
{
    if (unlikely(!active))
        return real.dup2(old, fd);
    if (hidden(old))
        return (int)sysret(-EBADF);
    replacing(old, fd);
    return real.dup2(old, fd);
}

HOOK int
dup3(int old, int fd, int flags)
{
    if (unlikely(!active))
        return real.dup3(old, fd, flags);
    if (hidden(old))
        return (int)sysret(-EBADF);
    replacing(old, fd);
    return real.dup3(old, fd, flags);
}

/* Ranges around our own fds, and over whatever is parked on in them. */
static int
closerange(unsigned first, unsigned last, int flags)
{
    unsigned from = first;

    if (first > last || (flags & ~6) != 0)
        return real.close_range(first, last, flags);
    for (unsigned fd = first; fd <= last && pdpeek((int)fd) != NULL && fd < 65536; fd++) {
        if (hidden((int)fd)) {
            if (fd > from && real.close_range(from, fd - 1, flags) != 0)
                return -1;
            from = fd + 1;
        } else if (!(flags & 4)) {      /* CLOSE_RANGE_CLOEXEC closes nothing now */
            io_closing((int)fd);
        }
    }
    return from > last ? 0 : real.close_range(from, last, flags);
}

HOOK int
close_range(unsigned first, unsigned last, int flags)
{
    return unlikely(!active) ? real.close_range(first, last, flags) : closerange(first, last, flags);
}

HOOK void
closefrom(int low)
{
    if (unlikely(!active))
        real.closefrom(low);
    else
        closerange(low < 0 ? 0 : (unsigned)low, ~0u, 0);
}

/* stdio closes its fd inside libc. */
static void
closingfile(FILE *f)
{
    int fd = f != NULL ? fileno(f) : -1;

    if (fd >= 0)
        io_closing(fd);
}

HOOK int
fclose(FILE *f)
{
    if (likely(active))
        closingfile(f);
    return real.fclose(f);
}

HOOK int
pclose(FILE *f)
{
    if (likely(active))
        closingfile(f);
    return real.pclose(f);
}

HOOK FILE *
freopen(const char *restrict path, const char *restrict mode, FILE *restrict f)
{
    if (likely(active))
        closingfile(f);
    return real.freopen(path, mode, f);
}

/* ---- what changes an fd or makes one ---- */

static long
control(int fd, int cmd, long arg)
{
    long r;

    if (hidden(fd))
        return -EBADF;
    switch (cmd) {
    case F_SETLKW:
    case F_OFD_SETLKW:
        cancelpoint();
        return interruptedl(io_syscall(Blocks, SYS_fcntl, fd, cmd, arg, 0, 0, 0));
    case F_SETFL:
        r = sys3(SYS_fcntl, fd, cmd, arg);
        nonblockchanged();
        if (arg & O_DIRECT)
            io_packets();
        return r;
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        r = sys3(SYS_fcntl, fd, cmd, arg);
        if (r >= 0)
            pdforget((int)r);
        return r;
    }
    return 1;                   /* not ours to handle */
}

HOOK int
fcntl(int fd, int cmd, ...)
{
    va_list ap;
    void *arg;
    long r;

    va_start(ap, cmd);
    arg = va_arg(ap, void *);
    va_end(ap);
    if (unlikely(!active))
        return real.fcntl(fd, cmd, arg);
    switch (cmd) {
    case F_SETLKW: case F_OFD_SETLKW: case F_SETFL: case F_DUPFD: case F_DUPFD_CLOEXEC:
        r = control(fd, cmd, A(arg));
        return (int)sysret(r);
    }
    return hidden(fd) ? (int)sysret(-EBADF) : real.fcntl(fd, cmd, arg);
}

HOOK int fcntl64(int fd, int cmd, ...) __attribute__((alias("fcntl")));

HOOK int
ioctl(int fd, unsigned long req, ...)
{
    va_list ap;
    void *arg;
    int r;

    va_start(ap, req);
    arg = va_arg(ap, void *);
    va_end(ap);
    r = real.ioctl(fd, req, arg);
    if (active && req == FIONBIO)
        nonblockchanged();
    return r;
}

HOOK int
setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
    enum { RcvTimeoNew = 66, SndTimeoNew = 67 };

    if (level == SOL_SOCKET && (opt == SO_RCVTIMEO || opt == SO_SNDTIMEO || opt == RcvTimeoNew || opt == SndTimeoNew))
        store_rlx(&socktimeouts, true);
    return real.setsockopt(fd, level, opt, val, len);
}

#define MAKES(name, params, args) \
    HOOK int \
    name params \
    { \
        int fd = real.name args; \
\
        if (active && fd >= 0) \
            pdforget(fd); \
        return fd; \
    }

MAKES(dup, (int old), (old))
MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol))
MAKES(epoll_create, (int size), (size))
MAKES(epoll_create1, (int flags), (flags))
MAKES(eventfd, (unsigned count, int flags), (count, flags))
MAKES(timerfd_create, (int clock, int flags), (clock, flags))
MAKES(inotify_init, (void), ())
MAKES(inotify_init1, (int flags), (flags))
MAKES(memfd_create, (const char *name, unsigned flags), (name, flags))

static void
madetwo(int r, const int fds[2])
{
    if (active && r == 0) {
        pdforget(fds[0]);
        pdforget(fds[1]);
    }
}

HOOK int
socketpair(int domain, int type, int protocol, int fds[2])
{
    int r = real.socketpair(domain, type, protocol, fds);

    madetwo(r, fds);
    return r;
}

static void
madepipe(int r, const int fds[2], bool plain)
{
    if (r != 0)
        return;
    pdplainpipe(fds[0], plain);
    pdplainpipe(fds[1], plain);
    madetwo(r, fds);
}

HOOK int
pipe(int fds[2])
{
    int r = real.pipe(fds);

    madepipe(r, fds, true);
    return r;
}

HOOK int
pipe2(int fds[2], int flags)
{
    int r = real.pipe2(fds, flags);

    madepipe(r, fds, (flags & O_DIRECT) == 0);
    return r;
}

/* What a signalfd shows depends on the thread that asks: never polled by another M. */
HOOK int
signalfd(int fd0, const sigset_t *set, int flags)
{
    int fd = real.signalfd(fd0, set, flags);

    if (fd >= 0)
        store_rlx(&signalfds, true);
    if (active && fd >= 0)
        pdmade(fd, FdSignal, (flags & SFD_NONBLOCK) != 0);
    return fd;
}

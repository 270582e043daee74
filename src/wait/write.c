/* Writing: all that a blocking call writes, by calls that do not block. */
#define _GNU_SOURCE 1
#include "wait/iocall.h"
#include <errno.h>
#include <limits.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

static long
trywrite(struct call *c, struct msghdr *msg, int flags)
{
    long r;

    switch (load_rlx(&c->pd->class)) {
    case FdStream:
    case FdUnix:
    case FdDgram:
        if (msg->msg_iovlen == 1 && msg->msg_control == NULL)
            return sys6(SYS_sendto, c->fd, A(msg->msg_iov->iov_base), A(msg->msg_iov->iov_len), flags | MSG_DONTWAIT,
                        A(msg->msg_name), msg->msg_namelen);
        return sys3(SYS_sendmsg, c->fd, A(msg), flags | MSG_DONTWAIT);
    case FdPipe:
    case FdEvent:
        r = sys6(SYS_pwritev2, c->fd, A(msg->msg_iov), A(msg->msg_iovlen), -1, -1, RWF_NOWAIT);
        if (r != -EOPNOTSUPP)
            return r;
        /* fall through */
    default:
        return io_trypolled(c);
    }
}

/* Writes all of msg on a stream, as a blocking call does; what was written before an error counts. */
static long
writeloop(struct call *c, const struct msghdr *orig, int flags)
{
    size_t want = io_total(orig->msg_iov, (int)orig->msg_iovlen), done = 0;
    struct iovec window[WINDOW];
    struct msghdr msg = *orig;

    for (;;) {
        uint32_t seq = edges(c);
        long r = trywrite(c, &msg, flags);

        if (r >= 0) {
            done += (size_t)r;
            c->part = done > 0;
            if (done >= want || !c->stream) {
                if (unlikely(c->woken))
                    io_passon(c);
                return (long)done;
            }
            msg.msg_control = NULL;
            msg.msg_controllen = 0;
            msg.msg_iov = window;
            msg.msg_iovlen = (size_t)io_behind(window, orig->msg_iov, (int)orig->msg_iovlen, done);
            continue;
        }
        if (r != -EAGAIN)
            return done > 0 ? (long)done : r;
        if (done > 0 && pdnonblock(c->fd, c->pd))
            return (long)done;
        if (!io_again(c, seq, &r))
            return done > 0 && r < 0 ? (long)done : r + (long)done;
    }
}

long
io_write(int fd, const void *buf, size_t n)
{
    struct iovec iov = { (void *)(uintptr_t)buf, n };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct call c = { .nr = SYS_write, .a = { fd, A(buf), A(n) } };
    long r;

    if (!io_begin(&c, fd, 'w', &r))
        return r;
    return n == 0 ? raw(&c) : writeloop(&c, &msg, 0);
}

long
io_writev(int fd, const struct iovec *iov, int n)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
    struct call c = { .nr = SYS_writev, .a = { fd, A(iov), n } };
    long r;

    if (!io_begin(&c, fd, 'w', &r))
        return r;
    return n <= 0 || n > IOV_MAX || io_total(iov, n) == 0 ? raw(&c) : writeloop(&c, &msg, 0);
}

long
io_pwritev(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
    if (off == -1 && flags == 0)
        return io_writev(fd, iov, n);
    return io_syscall(0, SYS_pwritev2, fd, A(iov), n, off, 0, flags);
}

long
io_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *sa, socklen_t len)
{
    struct iovec iov = { (void *)(uintptr_t)buf, n };
    struct msghdr msg = { (void *)(uintptr_t)sa, len, &iov, 1, NULL, 0, 0 };
    struct call c = { .nr = SYS_sendto, .a = { fd, A(buf), A(n), flags, A(sa), len } };
    long r;

    if (!io_begin(&c, fd, 'w', &r))
        return r;
    if (flags & MSG_DONTWAIT)
        return raw(&c);
    return writeloop(&c, &msg, flags);
}

long
io_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct call c = { .nr = SYS_sendmsg, .a = { fd, A(msg), flags } };
    long r;

    if (!io_begin(&c, fd, 'w', &r))
        return r;
    if ((flags & MSG_DONTWAIT) || msg->msg_iovlen > IOV_MAX)
        return raw(&c);
    return writeloop(&c, msg, flags);
}

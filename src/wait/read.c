/* Reading.
 *
 * On a stream a read that came back with less than asked has emptied it, and the next read parks
 * without a try, unless an edge came since (or a hang-up or urgent data, which are seen once only).
 * For Unix sockets that is known only from recvmsg: descriptors and credentials end a read early, and
 * then MSG_CTRUNC is set.
 */
#define _GNU_SOURCE 1
#include "wait/iocall.h"
#include <errno.h>
#include <limits.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

static bool
knowndrained(struct polldesc *pd, uint32_t seq)
{
    return load_rlx(&pd->drained) == seq + 1 && !load_rlx(&pd->hup) && load_rlx(&pd->registered) &&
           (load_rlx(&pd->class) != FdPipe || !load_rlx(&io_havepackets));
}

static long
tryread(struct call *c, const struct iovec *iov, int n, bool *cut)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
    long r;

    switch (load_rlx(&c->pd->class)) {
    case FdStream:
    case FdDgram:
        if (n == 1)
            return sys6(SYS_recvfrom, c->fd, A(iov->iov_base), A(iov->iov_len), MSG_DONTWAIT, 0, 0);
        return sys3(SYS_recvmsg, c->fd, A(&msg), MSG_DONTWAIT);
    case FdUnix:
        r = sys3(SYS_recvmsg, c->fd, A(&msg), MSG_DONTWAIT);
        *cut = (msg.msg_flags & MSG_CTRUNC) != 0;
        return r;
    case FdPipe:
    case FdEvent:
        r = sys6(SYS_preadv2, c->fd, A(iov), n, -1, -1, RWF_NOWAIT);
        if (r != -EOPNOTSUPP)
            return r;
        /* fall through */
    default:
        return io_trypolled(c);
    }
}

static long
readloop(struct call *c, const struct iovec *iov, int n, size_t want)
{
    for (;;) {
        uint32_t seq = edges(c);
        bool cut = false;
        long r = -EAGAIN;

        if (!c->stream || !knowndrained(c->pd, seq) || pdnonblock(c->fd, c->pd)) {
            r = tryread(c, iov, n, &cut);
            if (r != -EAGAIN) {
                if (c->stream && r > 0 && (size_t)r < want && !cut)
                    store_rlx(&c->pd->drained, seq + 1);
                if (unlikely(c->woken))
                    io_passon(c);
                return r;
            }
        }
        if (!io_again(c, seq, &r))
            return r;
    }
}

long
io_read(int fd, void *buf, size_t n)
{
    struct iovec iov = { buf, n };
    struct call c = { .nr = SYS_read, .a = { fd, A(buf), A(n) } };
    long r;

    if (!io_begin(&c, fd, 'r', &r))
        return r;
    return n == 0 ? raw(&c) : readloop(&c, &iov, 1, n);
}

long
io_readv(int fd, const struct iovec *iov, int n)
{
    struct call c = { .nr = SYS_readv, .a = { fd, A(iov), n } };
    long r;

    if (!io_begin(&c, fd, 'r', &r))
        return r;
    return n <= 0 || n > IOV_MAX || io_total(iov, n) == 0 ? raw(&c) : readloop(&c, iov, n, io_total(iov, n));
}

long
io_preadv(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
    if (off == -1 && flags == 0)
        return io_readv(fd, iov, n);
    return io_syscall(0, SYS_preadv2, fd, A(iov), n, off, 0, flags);
}

/* Receives with MSG_DONTWAIT set by us, which the program's own flag makes superfluous. */
static long
recvloop(struct call *c, int flagarg, size_t want)
{
    bool dontwait = (c->a[flagarg] & MSG_DONTWAIT) != 0;
    bool plain = (c->a[flagarg] & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)) == 0;

    for (;;) {
        uint32_t seq = edges(c);
        long r;

        c->a[flagarg] |= MSG_DONTWAIT;
        r = raw(c);
        if (!dontwait)
            c->a[flagarg] &= ~(long)MSG_DONTWAIT;
        if (r != -EAGAIN || dontwait || (c->a[flagarg] & MSG_ERRQUEUE)) {
            if (load_rlx(&c->pd->class) == FdStream && plain && r > 0 && (size_t)r < want)
                store_rlx(&c->pd->drained, seq + 1);
            if (unlikely(c->woken))
                io_passon(c);
            return r;
        }
        if (!io_again(c, seq, &r))
            return r;
    }
}

/* MSG_WAITALL on a stream: until all is there, or the end, or an error. */
static long
recvall(struct call *c)
{
    char *buf = (char *)c->a[1];
    size_t n = (size_t)c->a[2], done = 0;

    while (done < n) {
        long r;

        c->a[1] = A(buf + done);
        c->a[2] = A(n - done);
        r = recvloop(c, 3, n - done);
        if (r <= 0)
            return done > 0 ? (long)done : r;
        done += (size_t)r;
        c->part = true;
    }
    return (long)done;
}

/* The same into pieces. The first part brings address and control data; a Unix stream has some with later parts, and waits in
 * the kernel. */
static long
recvmsgall(struct call *c, const struct msghdr *msg)
{
    size_t want = io_total(msg->msg_iov, (int)msg->msg_iovlen), done = 0;
    struct iovec window[WINDOW];
    struct msghdr rest = { .msg_iov = window };
    long r;

    while ((r = recvloop(c, 2, want - done)) > 0) {
        done += (size_t)r;
        c->part = true;
        if (done >= want)
            break;
        rest.msg_iovlen = (size_t)io_behind(window, msg->msg_iov, (int)msg->msg_iovlen, done);
        c->a[1] = A(&rest);
    }
    c->a[1] = A(msg);
    return done > 0 ? (long)done : r;
}

long
io_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *sa, socklen_t *len)
{
    struct call c = { .nr = SYS_recvfrom, .a = { fd, A(buf), A(n), flags, A(sa), A(len) } };
    long r;

    if (!io_begin(&c, fd, 'r', &r))
        return r;
    if ((flags & (MSG_WAITALL | MSG_PEEK | MSG_DONTWAIT)) == MSG_WAITALL && c.stream)
        return recvall(&c);
    if ((flags & MSG_WAITALL) && c.stream)
        return blocking(&c);
    return recvloop(&c, 3, n);
}

long
io_recvmsg(int fd, struct msghdr *msg, int flags)
{
    struct call c = { .nr = SYS_recvmsg, .a = { fd, A(msg), flags } };
    long r;

    if (!io_begin(&c, fd, 'r', &r))
        return r;
    if ((flags & MSG_WAITALL) && c.stream) {
        bool pieces = load_rlx(&c.pd->class) == FdStream && (flags & ~(MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)) == 0;

        return pieces && msg->msg_iovlen <= IOV_MAX ? recvmsgall(&c, msg) : blocking(&c);
    }
    return recvloop(&c, 2, 0);
}

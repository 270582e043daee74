/* Reading, writing, accepting: the calls that may block on an fd.
 *
 * Each is tried without blocking first, by a flag of the call (MSG_DONTWAIT, RWF_NOWAIT): the file
 * description itself is never made nonblocking. Would it block, the G parks until epoll reports an edge, and
 * tries again. `seq`, the number of edges as of before the try, closes the gap between the two.
 *
 * On a stream a read that came back with less than asked has emptied it, and the next read parks
 * without a try, unless an edge came since (or a hang-up or urgent data, which are seen once only).
 * For Unix sockets that is known only from recvmsg: descriptors and credentials end a read early, and
 * then MSG_CTRUNC is set.
 *
 * One edge wakes one waiter. Having got something, it wakes the next in its queue, which may find more;
 * having got nothing, it queues again.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/uio.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* One call under way. */
struct call {
    struct g *gp;
    struct polldesc *pd;
    int fd;
    int queue;                  /* 'r' or 'w' */
    bool stream;                /* short reads mean empty, short writes go on */
    bool woken;
    int64_t deadline;
    long nr, a[6];              /* the system call that may block */
};

static _Atomic bool packets;    /* pipes may be in packet mode: a short read says nothing */

void
io_packets(void)
{
    store_rlx(&packets, true);
}

static long
raw(struct call *c)
{
    return sys6(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static long
blocking(struct call *c)
{
    return io_syscall(0, c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

int
io_block(struct g *gp, int fd, struct polldesc *pd, int queue, uint32_t seq, int64_t when)
{
    struct pdwait w = { .gp = gp };
    struct m *mp = acquirem(gp);
    uint32_t wake;
    bool ok = true;

    lock(&pd->lock);
    if (load_rlx(queue == 'r' ? &pd->rseq : &pd->wseq) != seq || !(ok = netpollopen(fd, pd))) {
        unlock(&pd->lock);
        releasem(gp);
        return ok ? 0 : -EPERM;
    }
    store_rlx(&gp->wake, WakeArmed);
    pdenqueue(pd, &w, queue);
    unlock(&pd->lock);
    if (when != 0)
        timeradd(mp->p, &gp->timer, when);
    gp->waiton = (uint32_t)fd;
    wake = gopark(gp, queue == 'r' ? WaitRead : WaitWrite);
    if (when != 0)
        timerdel(&gp->timer);
    if (wake != WakeUnpark)
        pddequeue(&w);
    releasem(gp);               /* handlers run here, with the wait undone */
    switch (wake) {
    case WakeUnpark: return 0;
    case WakeClose: return -EBADF;
    case WakeTimeout: return -ETIMEDOUT;
    default: return -EINTR;
    }
}

/* Somebody else waits in the queue that we were woken from: there may be more. */
static void
passon(struct call *c)
{
    struct polldesc *pd = c->pd;
    struct pdqueue *q = c->queue == 'r' ? &pd->rq : &pd->wq;
    struct glist list = { 0 };

    c->woken = false;
    if (*(struct pdwait *volatile *)&q->head == NULL)
        return;
    acquirem(c->gp);
    lock(&pd->lock);
    netpollready(q, &list);
    unlock(&pd->lock);
    releasem(c->gp);
    readylist(&list);
}

int64_t
io_until(const struct timeval *tv)
{
    if ((tv->tv_sec == 0 && tv->tv_usec == 0) || tv->tv_sec >= INT64_MAX / 2 / 1000000000)
        return 0;               /* more than a century is for ever */
    return nanotime() + tv->tv_sec * 1000000000 + tv->tv_usec * 1000;
}

/* When SO_RCVTIMEO or SO_SNDTIMEO ends the wait that begins now; 0: never. */
static int64_t
sockdeadline(struct call *c)
{
    struct timeval tv = { 0, 0 };
    socklen_t len = sizeof tv;
    int opt = c->queue == 'r' ? SO_RCVTIMEO : SO_SNDTIMEO;

    if (likely(!load_rlx(&socktimeouts)) || sys6(SYS_getsockopt, c->fd, SOL_SOCKET, opt, A(&tv), A(&len), 0) < 0)
        return 0;
    return io_until(&tv);
}

/* Sets c up; false: there is nothing to wait for here, *r is the call's result. */
static bool
begin(struct call *c, int fd, int queue, long *r)
{
    c->gp = getg();
    c->fd = fd;
    c->queue = queue;
    c->woken = false;
    c->deadline = 0;
    c->pd = NULL;
    if (c->gp == NULL) {
        *r = raw(c);
        return false;
    }
    preemptpoint(c->gp);
    signal_begin(c->gp);
    c->pd = pdget(fd);
    if (c->pd == NULL) {
        *r = blocking(c);       /* not open, or beyond the table */
        return false;
    }
    switch (load_rlx(&c->pd->class)) {
    case FdFile:
        *r = blocking(c);
        return false;
    case FdSignal:
        *r = c->nr == SYS_read ? signal_fdread(fd, (void *)c->a[1], (size_t)c->a[2]) : blocking(c);
        return false;
    case FdOurs:
        *r = -EBADF;            /* as the program knows it, it is not open */
        return false;
    case FdStream:
    case FdUnix:
    case FdPipe:
        c->stream = true;
        break;
    default:
        c->stream = false;
    }
    return true;
}

/* A datagram socket that is shut for reading: the kernel says so to calls that may block only. */
static bool
shut(int fd)
{
    struct pollfd p = { fd, POLLRDHUP, 0 };

    return sys3(SYS_poll, A(&p), 1, 0) == 1 && (p.revents & POLLRDHUP) != 0;
}

/* Would block: waits. 0: try again, else the result of the call is *r. */
static bool
again(struct call *c, uint32_t seq, long *r)
{
    if (pdnonblock(c->fd, c->pd)) {
        *r = -EAGAIN;
        return false;
    }
    if (unlikely(load_rlx(&c->pd->hup)) && load_rlx(&c->pd->class) == FdDgram && c->queue == 'r' && shut(c->fd)) {
        *r = blocking(c);
        return false;
    }
    if (c->deadline == 0)
        c->deadline = sockdeadline(c);
    *r = io_block(c->gp, c->fd, c->pd, c->queue, seq, c->deadline);
    if (*r == 0) {
        c->woken = true;
        return true;
    }
    if (*r == -EINTR && signal_restarts(c->gp, c->deadline != 0))
        return true;
    if (*r == -EPERM)
        *r = blocking(c);
    else if (*r == -ETIMEDOUT)
        *r = -EAGAIN;
    return false;
}

/* For what has no nonblocking form: ready according to poll, then the real call, which another thread
 * may make block after all. */
static long
trypolled(struct call *c)
{
    struct pollfd p = { c->fd, c->queue == 'r' ? POLLIN : POLLOUT, 0 };

    if (!c->woken && sys3(SYS_poll, A(&p), 1, 0) == 0 && !pdnonblock(c->fd, c->pd))
        return -EAGAIN;
    return blocking(c);
}

static inline uint32_t
edges(struct call *c)
{
    return load_acq(c->queue == 'r' ? &c->pd->rseq : &c->pd->wseq);
}

/* ---- reading ---- */

static bool
knowndrained(struct polldesc *pd, uint32_t seq)
{
    return load_rlx(&pd->drained) == seq + 1 && !load_rlx(&pd->hup) && load_rlx(&pd->registered) &&
           (load_rlx(&pd->class) != FdPipe || !load_rlx(&packets));
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
        return trypolled(c);
    }
}

static size_t
total(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
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
                    passon(c);
                return r;
            }
        }
        if (!again(c, seq, &r))
            return r;
    }
}

long
io_read(int fd, void *buf, size_t n)
{
    struct iovec iov = { buf, n };
    struct call c = { .nr = SYS_read, .a = { fd, A(buf), A(n) } };
    long r;

    if (!begin(&c, fd, 'r', &r))
        return r;
    return n == 0 ? raw(&c) : readloop(&c, &iov, 1, n);
}

long
io_readv(int fd, const struct iovec *iov, int n)
{
    struct call c = { .nr = SYS_readv, .a = { fd, A(iov), n } };
    long r;

    if (!begin(&c, fd, 'r', &r))
        return r;
    return n <= 0 || n > IOV_MAX || total(iov, n) == 0 ? raw(&c) : readloop(&c, iov, n, total(iov, n));
}

enum { WINDOW = 16 };

/* The part of iov behind the first `done` bytes, at most WINDOW pieces of it. */
static int
behind(struct iovec *out, const struct iovec *iov, int n, size_t done)
{
    int k = 0;

    for (int i = 0; i < n && k < WINDOW; i++) {
        if (done >= iov[i].iov_len) {
            done -= iov[i].iov_len;
            continue;
        }
        out[k].iov_base = (char *)iov[i].iov_base + done;
        out[k++].iov_len = iov[i].iov_len - done;
        done = 0;
    }
    return k;
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
                passon(c);
            return r;
        }
        if (!again(c, seq, &r))
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
    }
    return (long)done;
}

/* The same into pieces. The first part brings address and control data; a Unix stream has some with later parts, and waits in
 * the kernel. */
static long
recvmsgall(struct call *c, const struct msghdr *msg)
{
    size_t want = total(msg->msg_iov, (int)msg->msg_iovlen), done = 0;
    struct iovec window[WINDOW];
    struct msghdr rest = { .msg_iov = window };
    long r;

    while ((r = recvloop(c, 2, want - done)) > 0) {
        done += (size_t)r;
        if (done >= want)
            break;
        rest.msg_iovlen = (size_t)behind(window, msg->msg_iov, (int)msg->msg_iovlen, done);
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

    if (!begin(&c, fd, 'r', &r))
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

    if (!begin(&c, fd, 'r', &r))
        return r;
    if ((flags & MSG_WAITALL) && c.stream) {
        bool pieces = load_rlx(&c.pd->class) == FdStream && (flags & ~(MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)) == 0;

        return pieces && msg->msg_iovlen <= IOV_MAX ? recvmsgall(&c, msg) : blocking(&c);
    }
    return recvloop(&c, 2, 0);
}

/* ---- writing ---- */

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
        return trypolled(c);
    }
}

/* Writes all of msg on a stream, as a blocking call does; what was written before an error counts. */
static long
writeloop(struct call *c, const struct msghdr *orig, int flags)
{
    size_t want = total(orig->msg_iov, (int)orig->msg_iovlen), done = 0;
    struct iovec window[WINDOW];
    struct msghdr msg = *orig;

    for (;;) {
        uint32_t seq = edges(c);
        long r = trywrite(c, &msg, flags);

        if (r >= 0) {
            done += (size_t)r;
            if (done >= want || !c->stream) {
                if (unlikely(c->woken))
                    passon(c);
                return (long)done;
            }
            msg.msg_control = NULL;
            msg.msg_controllen = 0;
            msg.msg_iov = window;
            msg.msg_iovlen = (size_t)behind(window, orig->msg_iov, (int)orig->msg_iovlen, done);
            continue;
        }
        if (r != -EAGAIN)
            return done > 0 ? (long)done : r;
        if (done > 0 && pdnonblock(c->fd, c->pd))
            return (long)done;
        if (!again(c, seq, &r))
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

    if (!begin(&c, fd, 'w', &r))
        return r;
    return n == 0 ? raw(&c) : writeloop(&c, &msg, 0);
}

long
io_writev(int fd, const struct iovec *iov, int n)
{
    struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n };
    struct call c = { .nr = SYS_writev, .a = { fd, A(iov), n } };
    long r;

    if (!begin(&c, fd, 'w', &r))
        return r;
    return n <= 0 || n > IOV_MAX || total(iov, n) == 0 ? raw(&c) : writeloop(&c, &msg, 0);
}

long
io_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *sa, socklen_t len)
{
    struct iovec iov = { (void *)(uintptr_t)buf, n };
    struct msghdr msg = { (void *)(uintptr_t)sa, len, &iov, 1, NULL, 0, 0 };
    struct call c = { .nr = SYS_sendto, .a = { fd, A(buf), A(n), flags, A(sa), len } };
    long r;

    if (!begin(&c, fd, 'w', &r))
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

    if (!begin(&c, fd, 'w', &r))
        return r;
    if ((flags & MSG_DONTWAIT) || msg->msg_iovlen > IOV_MAX)
        return raw(&c);
    return writeloop(&c, msg, flags);
}

/* ---- connections ---- */

static long
acceptloop(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
    struct call c = { .nr = SYS_accept4, .a = { fd, A(sa), A(len), flags } };
    long r;

    if (!begin(&c, fd, 'r', &r))
        return r;
    for (;;) {
        uint32_t seq = edges(&c);

        r = trypolled(&c);
        if (r != -EAGAIN) {
            if (c.woken)
                passon(&c);
            return r;
        }
        if (!again(&c, seq, &r))
            return r;
    }
}

/* What comes is of its listener's kind, if that was not closed meanwhile, and never inherits O_NONBLOCK. */
long
io_accept(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
    struct polldesc *pd = pdpeek(fd);
    uint32_t gen = pd != NULL ? *(volatile uint32_t *)&pd->gen : 0;
    long got = acceptloop(fd, sa, len, flags);
    int class = pd != NULL ? load_acq(&pd->class) : FdUnknown;

    if (got < 0)
        return got;
    if ((class == FdListenStream || class == FdListenUnix) && *(volatile uint32_t *)&pd->gen == gen)
        pdmade((int)got, class == FdListenUnix ? FdUnix : FdStream, (flags & SOCK_NONBLOCK) != 0);
    else
        pdforget((int)got);
    return got;
}

void
io_closing(int fd)
{
    struct glist list = { 0 };

    pdclosing(fd, &list);
    readylist(&list);
}

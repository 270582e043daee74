/* Waiting for an fd: see iocall.h. */
#define _GNU_SOURCE 1
#include "wait/iocall.h"
#include <errno.h>
#include <poll.h>

_Atomic bool io_havepackets;

void
io_packets(void)
{
    store_rlx(&io_havepackets, true);
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

void
io_passon(struct call *c)
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

bool
io_begin(struct call *c, int fd, int queue, long *r)
{
    c->gp = getg();
    c->fd = fd;
    c->queue = queue;
    c->woken = c->part = false;
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

/* A handler forked, and this is the child, which is passive: the kernel waits. Not for a write, of which some may have been written. */
static long
inchild(struct call *c)
{
    return c->queue == 'r' ? raw(c) : -EINTR;
}

bool
io_again(struct call *c, uint32_t seq, long *r)
{
    if (unlikely(curg != c->gp)) {
        *r = inchild(c);
        return false;
    }
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
    if (*r == -EINTR && !(c->part && c->gp->sigran) && signal_restarts(c->gp, c->deadline != 0)) {
        if (likely(curg == c->gp))
            return true;
        *r = inchild(c);
        return false;
    }
    if (*r == -EPERM)
        *r = blocking(c);
    else if (*r == -ETIMEDOUT)
        *r = -EAGAIN;
    return false;
}

long
io_trypolled(struct call *c)
{
    struct pollfd p = { c->fd, c->queue == 'r' ? POLLIN : POLLOUT, 0 };

    if (!c->woken && sys3(SYS_poll, A(&p), 1, 0) == 0 && !pdnonblock(c->fd, c->pd))
        return -EAGAIN;
    return blocking(c);
}

int
io_behind(struct iovec *out, const struct iovec *iov, int n, size_t done)
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

void
io_closing(int fd)
{
    struct glist list = { 0 };

    pdclosing(fd, &list);
    readylist(&list);
}

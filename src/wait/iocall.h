/* One call that may block on an fd: what reading, writing and accepting have in common.
 *
 * Each is tried without blocking first, by a flag of the call (MSG_DONTWAIT, RWF_NOWAIT): the file
 * description itself is never made nonblocking. Would it block, the G parks until epoll reports an edge, and
 * tries again. `seq`, the number of edges as of before the try, closes the gap between the two.
 *
 * One edge wakes one waiter. Having got something, it wakes the next in its queue, which may find more;
 * having got nothing, it queues again.
 */
#ifndef GOSSAMER_IOCALL_H
#define GOSSAMER_IOCALL_H

#include "wait/wait.h"

/* One call under way. */
struct call {
    struct g *gp;
    struct polldesc *pd;
    int fd;
    int queue;                  /* 'r' or 'w' */
    bool stream;                /* short reads mean empty, short writes go on */
    bool woken;
    bool part;                  /* some was moved already: a handler ends the wait, whatever SA_RESTART says, and that counts */
    int64_t deadline;
    long nr, a[6];              /* the system call that may block */
};

/* The call itself, as it is, and announced to the scheduler. */
static inline long
raw(struct call *c)
{
    return sys6(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static inline long
blocking(struct call *c)
{
    return io_syscall(0, c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static inline uint32_t
edges(struct call *c)
{
    return load_acq(c->queue == 'r' ? &c->pd->rseq : &c->pd->wseq);
}

/* Sets c up; false: there is nothing to wait for here, *r is the call's result. */
bool io_begin(struct call *c, int fd, int queue, long *r);
/* Would block: waits. True: try again, else the result of the call is *r. */
bool io_again(struct call *c, uint32_t seq, long *r);
/* The call got something after it was woken: perhaps there is more for the next in the queue. */
void io_passon(struct call *c);
/* For what has no nonblocking form: ready according to poll, then the real call, which another thread
 * may make block after all. -EAGAIN: not ready. */
long io_trypolled(struct call *c);
extern _Atomic bool io_havepackets;     /* pipes may be in packet mode: a short read says nothing */

static inline size_t
io_total(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

enum { WINDOW = 16 };

/* The part of iov behind the first `done` bytes, at most WINDOW pieces of it. */
int io_behind(struct iovec *out, const struct iovec *iov, int n, size_t done);

#endif

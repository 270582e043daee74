/* recvmmsg and sendmmsg: many messages with one call.
 *
 * What can be had at once is had with the call itself, made not to block. What is to be waited for is received or sent
 * alone, by io_recvmsg or io_sendmsg, which park; and then the rest again with one call. The rules are those of
 * recvmmsg(2) and sendmmsg(2): what has been done before an error counts, and a time limit is looked at behind each message
 * only. One thing differs: the kernel keeps the error that ended a call with some messages for the next call on the socket; an
 * error that comes when we have waited in between is lost.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <limits.h>

/* Of a kind that these calls park for. */
static struct polldesc *
parksfor(struct g *gp, int fd, int flags, int *class)
{
    struct polldesc *pd;

    if (gp == NULL || (flags & MSG_DONTWAIT) || (pd = pdget(fd)) == NULL)
        return NULL;
    *class = load_rlx(&pd->class);
    if (*class != FdStream && *class != FdUnix && *class != FdDgram)
        return NULL;
    return pdnonblock(fd, pd) ? NULL : pd;
}

/* What is left of a time limit; never less than nothing. */
static struct timespec
left(int64_t end)
{
    int64_t ns = end - nanotime();

    return ns > 0 ? (struct timespec){ ns / 1000000000, ns % 1000000000 } : (struct timespec){ 0, 0 };
}

static int64_t
endof(const struct timespec *ts)
{
    return ts->tv_sec >= INT64_MAX / 2 / 1000000000 ? INT64_MAX / 2 : nanotime() + ts->tv_sec * 1000000000 + ts->tv_nsec;
}

/* Again until it is enough: the result is how many there are. `rest` is what is left of the time limit, NULL without one. */
static long
receive(int fd, struct mmsghdr *vec, unsigned n, int flags, struct timespec *rest)
{
    int64_t end = rest != NULL ? endof(rest) : 0;
    unsigned got = 0;
    bool waited = false;

    for (;;) {
        long r = sys6(SYS_recvmmsg, fd, A(vec + got), n - got, flags | MSG_DONTWAIT, A(rest), 0);

        if (r == -EAGAIN && (got == 0 || !(flags & MSG_WAITFORONE))) {
            r = io_recvmsg(fd, &vec[got].msg_hdr, flags & ~MSG_WAITFORONE);
            if (r >= 0) {
                vec[got].msg_len = (unsigned)r;
                waited = true;
                r = 1;
            }
        } else if (waited && (flags & MSG_WAITFORONE)) {
            return r > 0 ? (long)got + r : (long)got;
        }
        if (r <= 0)
            return got > 0 ? (long)got : r;
        got += (unsigned)r;
        if (rest != NULL)
            *rest = left(end);
        if (got == n || ((flags & MSG_WAITFORONE) && !waited) || (vec[got - 1].msg_hdr.msg_flags & MSG_OOB) ||
            (rest != NULL && rest->tv_sec == 0 && rest->tv_nsec == 0))
            return got;
    }
}

long
io_recvmmsg(int fd, struct mmsghdr *vec, unsigned n, int flags, struct timespec *ts)
{
    struct g *gp = getg();
    struct timespec rest;
    int class;
    long r;

    if (parksfor(gp, fd, flags, &class) == NULL || n == 0 || ((flags & MSG_WAITALL) && class != FdDgram))
        return io_syscall(0, SYS_recvmmsg, fd, A(vec), n, flags, A(ts), 0);
    preemptpoint(gp);
    signal_begin(gp);
    if (ts != NULL)
        rest = *ts;
    r = receive(fd, vec, n, flags, ts != NULL ? &rest : NULL);
    if (r > 0 && ts != NULL)
        *ts = rest;
    return r;
}

long
io_sendmmsg(int fd, struct mmsghdr *vec, unsigned n, int flags)
{
    struct g *gp = getg();
    unsigned sent = 0;
    int class;

    if (n > IOV_MAX)            /* as the kernel does, here only */
        n = IOV_MAX;
    if (parksfor(gp, fd, flags, &class) == NULL || n == 0)
        return io_syscall(0, SYS_sendmmsg, fd, A(vec), n, flags, 0, 0);
    preemptpoint(gp);
    signal_begin(gp);
    while (sent < n) {
        long r = -EAGAIN;

        if (class == FdDgram)   /* on a stream a message could be sent in part */
            r = sys4(SYS_sendmmsg, fd, A(vec + sent), n - sent, flags | MSG_DONTWAIT);
        if (r == -EAGAIN) {
            const struct msghdr *msg = &vec[sent].msg_hdr;
            size_t want = 0;

            r = io_sendmsg(fd, msg, flags);
            for (size_t i = 0; r >= 0 && i < msg->msg_iovlen; i++)
                want += msg->msg_iov[i].iov_len;
            if (r >= 0) {
                vec[sent].msg_len = (unsigned)r;
                if ((size_t)r < want)
                    return sent + 1;
                r = 1;
            }
        }
        if (r <= 0)
            return sent > 0 ? (long)sent : r;
        sent += (unsigned)r;
    }
    return sent;
}

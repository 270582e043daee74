/* connect: begun without waiting, then parked until the socket is writable.
 *
 * The only flag that keeps connect from waiting is O_NONBLOCK, and that is the file description's, which other processes may
 * share. So the call itself gets a send timeout of one tick, by SO_SNDTIMEO: it begins the connection, or is told how
 * far it is (EINPROGRESS, EALREADY), or brings its result, as every later call does on Linux. The program's own timeout is put
 * back at once; G's handlers have to wait for that (locks), the P does not (entersyscall). The timeout is the socket's, so for that
 * tick whoever shares it has it too; nobody can send on it yet.
 *
 * Others than TCP's sockets wait in the kernel: a Unix one connects at once or waits for room in a queue that cannot be polled.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static bool
istcp(int fd, struct polldesc *pd)
{
    int domain = 0;
    socklen_t len = sizeof domain;

    return pd != NULL && load_rlx(&pd->class) == FdStream && !pdnonblock(fd, pd) &&
           sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, A(&domain), A(&len), 0) == 0 &&
           (domain == AF_INET || domain == AF_INET6);
}

static long
trial(struct g *gp, int fd, struct polldesc *pd, const struct sockaddr *sa, socklen_t salen, const struct timeval *own)
{
    uint32_t gen = *(volatile uint32_t *)&pd->gen;
    struct timeval tick = { 0, 1 };
    long r;

    entersyscall(gp);
    gp->locks++;
    r = sys6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, A(&tick), sizeof tick, 0);
    if (r == 0) {
        r = sys3(SYS_connect, fd, A(sa), salen);
        if (*(volatile uint32_t *)&pd->gen == gen)      /* else it was closed, and may be another's by now */
            sys6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, A(own), sizeof *own, 0);
    }
    gp->locks--;
    exitsyscall(gp);
    return r;
}

static bool
underway(int fd)
{
    struct pollfd p = { fd, POLLOUT, 0 };

    return sys3(SYS_poll, A(&p), 1, 0) == 0;
}

static long
connecttcp(struct g *gp, int fd, struct polldesc *pd, const struct sockaddr *sa, socklen_t salen)
{
    struct timeval own = { 0, 0 };
    socklen_t len = sizeof own;
    int64_t when;
    long r;

    sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, A(&own), A(&len), 0);
    when = io_until(&own);
    signal_begin(gp);
    for (;;) {
        uint32_t seq = load_acq(&pd->wseq);

        r = trial(gp, fd, pd, sa, salen, &own);
        if (r != -EINPROGRESS && r != -EALREADY && r != -EINTR)
            return r;
        /* A handler that had to wait for the trial has run at its end. */
        r = signal_restarts(gp, when != 0) ? 0 : -EINTR;
        while (r == 0 && underway(fd)) {
            r = io_block(gp, fd, pd, 'w', seq, when);
            seq = load_acq(&pd->wseq);
            if (r == -EINTR && signal_restarts(gp, when != 0))
                r = 0;
        }
        if (r == -EPERM)
            return io_syscall(0, SYS_connect, fd, A(sa), salen, 0, 0, 0);
        if (r == -ETIMEDOUT)
            return -EINPROGRESS;
        if (r == -EBADF || (r == -EINTR && underway(fd)))
            return r;
    }
}

long
io_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
    struct g *gp = getg();
    struct polldesc *pd;
    long r;

    pdforget(fd);               /* what was parked on, or seen of it, when it was not connected */
    pd = gp != NULL ? pdget(fd) : NULL;
    r = istcp(fd, pd) ? connecttcp(gp, fd, pd, sa, len) : io_syscall(0, SYS_connect, fd, A(sa), len, 0, 0, 0);
    pdforget(fd);
    return r;
}

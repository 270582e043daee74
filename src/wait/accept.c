/* accept: a connection from a listener. */
#define _GNU_SOURCE 1
#include "wait/iocall.h"
#include <errno.h>

static long
acceptloop(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
    struct call c = { .nr = SYS_accept4, .a = { fd, A(sa), A(len), flags } };
    long r;

    if (!io_begin(&c, fd, 'r', &r))
        return r;
    for (;;) {
        uint32_t seq = edges(&c);

        r = io_trypolled(&c);
        if (r != -EAGAIN) {
            if (c.woken)
                io_passon(&c);
            return r;
        }
        if (!io_again(&c, seq, &r))
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

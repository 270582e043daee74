/* sendfile, splice, tee, vmsplice: the kernel moves the data itself.
 *
 * Pipes have a nonblocking form of these calls (SPLICE_F_NONBLOCK), sockets have none. To a socket as much is sent at a time as
 * its buffer has room for; then the G parks until the socket can be written to. The buffer may have become
 * full meanwhile, by another thread: then the call waits in the kernel, as one that was announced to the scheduler.
 * A file is always read, and written, in an announced call.
 */
#define _GNU_SOURCE 1
#include "wait/iocall.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sys/stat.h>

enum { LEAST = 4096, MOST = 0x7ffff000, TRIES = 4 };    /* MOST: bytes of one call, in any kernel */

/* c is one side of a transfer; false: it is not of a kind that is waited for. */
static bool
side(struct call *c, struct g *gp, int fd, int queue)
{
    int class = FdFile;

    *c = (struct call){ .gp = gp, .fd = fd, .queue = queue, .stream = true, .pd = pdget(fd) };
    if (c->pd != NULL)
        class = load_rlx(&c->pd->class);
    return class == FdStream || class == FdUnix || class == FdPipe;
}

static bool
issocket(const struct call *c)
{
    return c->pd != NULL && load_rlx(&c->pd->class) != FdPipe;
}

/* What the call is that waits in the kernel, where that cannot be done here. */
static void
kernelcall(struct call *c, long nr, const long a[6])
{
    c->nr = nr;
    for (int i = 0; i < 6; i++)
        c->a[i] = a[i];
}

/* How much can be sent at once. One piece more than a full buffer is always accepted; a Unix socket counts what it keeps for
 * each piece, too. */
static size_t
room(const struct call *c)
{
    uint32_t mem[SK_MEMINFO_VARS], used;
    socklen_t len = sizeof mem;
    size_t left;

    if (sys6(SYS_getsockopt, c->fd, SOL_SOCKET, SO_MEMINFO, A(mem), A(&len), 0) < 0 || len <= SK_MEMINFO_WMEM_QUEUED * sizeof *mem)
        return LEAST;
    used = mem[SK_MEMINFO_WMEM_ALLOC];
    if (used < mem[SK_MEMINFO_WMEM_QUEUED])
        used = mem[SK_MEMINFO_WMEM_QUEUED];
    left = mem[SK_MEMINFO_SNDBUF] > used ? mem[SK_MEMINFO_SNDBUF] - used : 0;
    return load_rlx(&c->pd->class) == FdUnix ? left / 2 : left;
}

/* Ready, or with an error that the call shall tell. */
static bool
isready(const struct call *c)
{
    struct pollfd p = { c->fd, c->queue == 'r' ? POLLIN : POLLOUT, 0 };

    return sys3(SYS_poll, A(&p), 1, 0) != 0;
}

/* The part of `want` that a socket takes now; 0: none, it is to be waited for. As in the kernel a call begins with whatever room
 * there is, and once it had to wait, does not go on for a packet's worth. */
static size_t
fits(const struct call *c, size_t want, bool begins)
{
    size_t left = room(c);

    if (left >= want)
        return want;
    if (begins && left > 0)
        return left;
    if (!isready(c))
        return 0;
    return left > LEAST ? left : LEAST;
}

/* ---- sendfile ---- */

static long
filetopipe(struct call *c, int in, off_t *off, size_t n)
{
    for (;;) {
        uint32_t seq = edges(c);
        long r = io_syscall(NoPoint, SYS_splice, in, A(off), c->fd, 0, A(n), SPLICE_F_NONBLOCK);

        if (r != -EAGAIN) {
            if (r == -EINVAL)
                return blocking(c);
            if (c->woken)
                io_passon(c);
            return r;
        }
        if (!io_again(c, seq, &r))
            return r;
    }
}

/* Is the file at its end? Then the kernel would not wait for room. */
static bool
atend(int in, const off_t *off)
{
    struct stat st;
    long pos = off != NULL ? *off : sys3(SYS_lseek, in, 0, SEEK_CUR);

    return sys3(SYS_fstat, in, A(&st), 0) == 0 && S_ISREG(st.st_mode) && pos >= st.st_size;
}

static long
filetosocket(struct call *c, int in, off_t *off, size_t n)
{
    size_t done = 0;

    for (;;) {
        uint32_t seq = edges(c);
        size_t take = fits(c, n - done, done == 0 && !c->woken);
        long r = -EAGAIN;

        c->a[3] = A(n - done);
        if (take > 0) {
            r = io_syscall(NoPoint, SYS_sendfile, c->fd, in, A(off), A(take), 0, 0);
            if (r > 0)
                done += (size_t)r;
            c->part = done > 0;
            if (r < (long)take || done == n) {  /* the end of the file, an error, a time limit, a handler */
                if (c->woken)
                    io_passon(c);
                return done > 0 ? (long)done : r;
            }
        } else if (atend(in, off)) {
            return (long)done;
        } else if (!io_again(c, seq, &r)) {
            return done > 0 && r <= 0 ? (long)done : r + (long)done;
        }
    }
}

/* More than any file can have, which the kernel refuses. */
static bool
overflows(int in, const off_t *off, size_t n)
{
    long pos = off != NULL ? *off : sys3(SYS_lseek, in, 0, SEEK_CUR);

    return pos < 0 || n > (size_t)(INT64_MAX - pos);
}

long
io_sendfile(int out, int in, off_t *off, size_t n)
{
    const long a[6] = { out, in, A(off), A(n) };
    struct g *gp = getg();
    struct polldesc *from;
    struct call c;

    if (gp == NULL || n == 0 || !side(&c, gp, out, 'w') || pdnonblock(out, c.pd) || (from = pdget(in)) == NULL ||
        load_rlx(&from->class) != FdFile || (n > MOST && overflows(in, off, n)))
        return io_syscall(NoPoint, SYS_sendfile, out, in, A(off), A(n), 0, 0);
    preemptpoint(gp);
    signal_begin(gp);
    kernelcall(&c, SYS_sendfile, a);
    return issocket(&c) ? filetosocket(&c, in, off, n < MOST ? n : MOST) : filetopipe(&c, in, off, n);
}

/* ---- splice, tee ---- */

struct transfer {
    struct call in, out;
    bool inwaits, outwaits;     /* of kinds that are waited for */
};

/* The side that is not ready; NULL: both are. */
static struct call *
unready(struct transfer *t)
{
    if (t->inwaits && !isready(&t->in))
        return &t->in;
    return t->outwaits && !isready(&t->out) ? &t->out : NULL;
}

/* One try; *stops is the side that it would wait for. `a` is the call, size and flags in a[size] and a[size + 1]. */
static long
try(struct transfer *t, long nr, const long a[6], int size, size_t want, bool begins, struct call **stops)
{
    long b[6], r;

    for (int i = 0; i < 6; i++)
        b[i] = a[i];
    b[size] = A(want);
    b[size + 1] |= SPLICE_F_NONBLOCK;
    *stops = NULL;
    if (t->inwaits && issocket(&t->in)) {
        if ((*stops = unready(t)) != NULL)
            return -EAGAIN;
    } else if (t->outwaits && issocket(&t->out)) {
        if (t->inwaits && !isready(&t->in))
            *stops = &t->in;
        else if ((b[size] = A(fits(&t->out, want, begins))) == 0)
            *stops = &t->out;
        if (*stops != NULL)
            return -EAGAIN;
    }
    r = io_syscall(0, nr, b[0], b[1], b[2], b[3], b[4], b[5]);
    if (r == -EAGAIN)
        *stops = unready(t);
    return r;
}

static long
finish(struct transfer *t, size_t done, long r)
{
    if (t->in.woken)
        io_passon(&t->in);
    if (t->out.woken)
        io_passon(&t->out);
    return done > 0 && r < 0 ? (long)done : (long)done + r;
}

/* A socket is given as much as it takes, again and again, as long as there is some; all else is moved with one call. */
static long
transfer(struct transfer *t, long nr, const long a[6], int size, size_t n)
{
    size_t done = 0;
    int tries = 0;

    for (;;) {
        uint32_t iseq = t->inwaits ? edges(&t->in) : 0, oseq = t->outwaits ? edges(&t->out) : 0;
        struct call *stops;
        long r = try(t, nr, a, size, n - done, done == 0 && !t->out.woken, &stops);

        if (r > 0 && done + (size_t)r < n && t->outwaits && issocket(&t->out)) {
            done += (size_t)r;
            t->in.part = t->out.part = true;
            continue;
        }
        if (r != -EAGAIN || (done > 0 && stops == &t->in))
            return finish(t, done, r);
        if (stops == NULL) {
            if (++tries < TRIES)
                continue;       /* another thread was faster */
            return finish(t, done, done > 0 ? 0 : blocking(&t->in));
        }
        if (!io_again(stops, stops == &t->in ? iseq : oseq, &r))
            return finish(t, done, r);
    }
}

static long
move(int in, int out, long nr, const long a[6], int size)
{
    struct g *gp = getg();
    struct transfer t;
    size_t n = (size_t)a[size];

    if (gp != NULL && n != 0 && (a[size + 1] & SPLICE_F_NONBLOCK) == 0) {
        t.inwaits = side(&t.in, gp, in, 'r');
        t.outwaits = side(&t.out, gp, out, 'w');
        if ((t.inwaits || t.outwaits) && !(t.inwaits && pdnonblock(in, t.in.pd)) && !(t.outwaits && pdnonblock(out, t.out.pd))) {
            preemptpoint(gp);
            signal_begin(gp);
            kernelcall(&t.in, nr, a);
            kernelcall(&t.out, nr, a);
            return transfer(&t, nr, a, size, n < MOST ? n : MOST);
        }
    }
    return io_syscall(0, nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long
io_splice(int in, off_t *inoff, int out, off_t *outoff, size_t n, unsigned flags)
{
    const long a[6] = { in, A(inoff), out, A(outoff), A(n), flags };

    return move(in, out, SYS_splice, a, 4);
}

long
io_tee(int in, int out, size_t n, unsigned flags)
{
    const long a[6] = { in, out, A(n), flags };

    return move(in, out, SYS_tee, a, 2);
}

/* ---- vmsplice ---- */

long
io_vmsplice(int fd, const struct iovec *iov, size_t n, unsigned flags)
{
    const long a[6] = { fd, A(iov), A(n), flags };
    struct g *gp = getg();
    struct call c;
    long mode;

    if (gp == NULL || (flags & SPLICE_F_NONBLOCK) || !side(&c, gp, fd, 'r') || issocket(&c) || pdnonblock(fd, c.pd) ||
        (mode = sys3(SYS_fcntl, fd, F_GETFL, 0)) < 0)
        return io_syscall(0, SYS_vmsplice, fd, A(iov), A(n), flags, 0, 0);
    preemptpoint(gp);
    signal_begin(gp);
    kernelcall(&c, SYS_vmsplice, a);
    c.queue = (mode & O_ACCMODE) == O_RDONLY ? 'r' : 'w';
    for (;;) {
        uint32_t seq = edges(&c);
        long r = io_syscall(0, SYS_vmsplice, fd, A(iov), A(n), flags | SPLICE_F_NONBLOCK, 0, 0);

        if (r != -EAGAIN) {
            if (c.woken)
                io_passon(&c);
            return r;
        }
        if (!io_again(&c, seq, &r))
            return r;
    }
}

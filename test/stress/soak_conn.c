/* A connection of the soak's server: a thread, which does its input and output in one of several ways; some have a second
 * thread that sends. See soak.c.
 *
 * Nothing here relies on what is unsafe natively. stdio loses what it could not write when a write is interrupted or
 * times out; so the threads that use it block the signals without SA_RESTART while they write, and set no timeout.
 */
#include "soak.h"
#include <poll.h>
#include <sys/time.h>
#include <sys/uio.h>

enum way { ReadWrite, WaitAll, Vector, Message, Poll, Stdio };
enum { BUFSIZE = 32768 };

/* What the second thread of a connection sends. */
struct ring {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    unsigned char *mem;
    size_t size, head, tail;    /* bytes put in and taken out */
    bool end;
};

struct conn {
    int fd;
    enum way way;
    bool timeouts, mayabort, began;
    _Atomic bool broken;        /* by either thread */
    uint64_t seed, inrnd, outrnd;
    uint64_t bytes, insum, outsum;
    FILE *in, *out;
    struct ring *ring;          /* NULL: it sends itself */
};

/* ---- bytes in and out, whatever comes between ---- */

/* A call has failed: is it to be repeated? */
static bool
again(struct conn *c, const char *what, _Atomic uint64_t *timeouts)
{
    int e = errno;

    if (e == EINTR) {
        totals.eintr++;
        return true;
    }
    if (e == EAGAIN && (c->timeouts || c->way == Poll)) {
        ++*timeouts;
        return true;
    }
    if (c->began && !c->mayabort)
        fail("%s of connection %" PRIx64 ", way %d, after %" PRIu64 " bytes: %s", what, c->seed, (int)c->way, c->bytes, strerror(e));
    c->broken = true;
    return false;
}

static ssize_t
pollfor(struct conn *c, short events, uint64_t *state)
{
    struct pollfd pf = { c->fd, events, 0 };
    int r = poll(&pf, 1, 10 + (int)rnd(state, 1000));

    if (r == 0)
        errno = EAGAIN;
    return r > 0 ? 1 : -1;
}

static void
halve(struct iovec v[2], struct msghdr *m, void *buf, size_t n, uint64_t *state)
{
    size_t first = 1 + rnd(state, n);

    v[0] = (struct iovec){ buf, first };
    v[1] = (struct iovec){ (char *)buf + first, n - first };
    *m = (struct msghdr){ .msg_iov = v, .msg_iovlen = n > first ? 2 : 1 };
}

static ssize_t
take(struct conn *c, void *buf, size_t n)
{
    struct iovec v[2];
    struct msghdr m;
    size_t r;

    halve(v, &m, buf, n, &c->inrnd);
    switch (c->way) {
    case ReadWrite: return read(c->fd, buf, n);
    case WaitAll: return recv(c->fd, buf, n, MSG_WAITALL);
    case Vector: return readv(c->fd, v, (int)m.msg_iovlen);
    case Message: return recvmsg(c->fd, &m, n % 2 == 0 ? MSG_WAITALL : 0);
    case Poll: return pollfor(c, POLLIN, &c->inrnd) < 0 ? -1 : recv(c->fd, buf, n, MSG_DONTWAIT);
    case Stdio: break;
    }
    clearerr(c->in);
    errno = 0;
    r = fread(buf, 1, n, c->in);
    return r > 0 || feof(c->in) ? (ssize_t)r : -1;
}

static ssize_t
give(struct conn *c, void *buf, size_t n)
{
    struct iovec v[2];
    struct msghdr m;
    sigset_t set, old;
    bool ok;

    halve(v, &m, buf, n, &c->outrnd);
    switch (c->way) {
    case ReadWrite: return write(c->fd, buf, n);
    case WaitAll: return send(c->fd, buf, n, MSG_NOSIGNAL);
    case Vector: return writev(c->fd, v, (int)m.msg_iovlen);
    case Message: return sendmsg(c->fd, &m, 0);
    case Poll: return pollfor(c, POLLOUT, &c->outrnd) < 0 ? -1 : send(c->fd, buf, n, MSG_DONTWAIT);
    case Stdio: break;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    ok = fwrite(buf, 1, n, c->out) == n && fflush(c->out) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok ? (ssize_t)n : -1;
}

/* n bytes, or fewer at the end of the stream or if it is broken. */
static size_t
get(struct conn *c, void *buf, size_t n)
{
    size_t have = 0;

    while (have < n) {
        ssize_t r = take(c, (char *)buf + have, n - have);

        if (r == 0 || (r < 0 && !again(c, "reading", &totals.intimeouts)))
            break;
        have += r > 0 ? (size_t)r : 0;
    }
    return have;
}

static bool
put(struct conn *c, void *buf, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t r = give(c, (char *)buf + done, n - done);

        if (r < 0 && !again(c, "writing", &totals.outtimeouts))
            return false;
        done += r > 0 ? (size_t)r : 0;
    }
    return true;
}

/* ---- the second thread ---- */

static void
ringwait(struct conn *c, pthread_cond_t *cond, uint64_t *state)
{
    struct timespec ts;

    if (!c->timeouts) {
        pthread_cond_wait(cond, &c->ring->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += 1000000 * (long)(1 + rnd(state, 900));
    ts.tv_sec += ts.tv_nsec / 1000000000;
    ts.tv_nsec %= 1000000000;
    pthread_cond_timedwait(cond, &c->ring->lock, &ts);
}

static void *
writer(void *arg)
{
    struct conn *c = arg;
    struct ring *r = c->ring;
    struct target me;

    enlist(&me);
    pthread_mutex_lock(&r->lock);
    for (;;) {
        size_t at = r->tail % r->size, n = r->head - r->tail;

        if (n == 0 && r->end)
            break;
        if (n == 0) {
            ringwait(c, &r->filled, &c->outrnd);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        n = n > r->size - at ? r->size - at : n;
        if (!c->broken)
            put(c, r->mem + at, n); /* if it breaks, what comes is thrown away */
        pthread_mutex_lock(&r->lock);
        r->tail += n;
        pthread_cond_signal(&r->emptied);
    }
    pthread_mutex_unlock(&r->lock);
    delist(&me);
    return NULL;
}

static bool
emit(struct conn *c, unsigned char *buf, size_t n)
{
    struct ring *r = c->ring;

    if (r == NULL)
        return put(c, buf, n);
    pthread_mutex_lock(&r->lock);
    while (n > 0) {
        size_t at = r->head % r->size, some = r->size - (r->head - r->tail);

        if (some == 0) {
            ringwait(c, &r->emptied, &c->inrnd);
            continue;
        }
        some = some > r->size - at ? r->size - at : some;
        some = some > n ? n : some;
        memcpy(r->mem + at, buf, some);
        r->head += some;
        buf += some;
        n -= some;
        pthread_cond_signal(&r->filled);
    }
    pthread_mutex_unlock(&r->lock);
    return !c->broken;
}

/* ---- a connection ---- */

static void
verify(struct conn *c, const unsigned char *buf, size_t n)
{
    unsigned char want[1024];

    for (size_t i = 0; i < n; i += sizeof want) {
        size_t some = n - i < sizeof want ? n - i : sizeof want;

        pattern(c->seed, c->bytes + i, want, some);
        if (memcmp(want, buf + i, some) != 0) {
            fail("connection %" PRIx64 ", way %d: what came at %" PRIu64 " to %" PRIu64 " is wrong", c->seed, (int)c->way, c->bytes + i,
                 c->bytes + i + some);
            return;
        }
    }
}

/* Faults that are asked for: something goes wrong in one of 300 pieces. False: nothing is to be sent. */
static bool
damage(struct conn *c, unsigned char *buf)
{
    if (options.fault == FaultNone || mix(c->seed ^ c->bytes) % 300 != 0)
        return true;
    if (options.fault == FaultFlip)
        buf[0] ^= 4;
    if (options.fault == FaultHang)
        for (;;)
            pause();
    return options.fault != FaultLose;
}

/* One message, back. buf has room for its length and `size` bytes of it. */
static bool
echo(struct conn *c, uint32_t length, unsigned char *buf, size_t size)
{
    size_t before = sizeof length;

    memcpy(buf, &length, sizeof length);
    for (size_t left = length; left > 0; before = 0) {
        unsigned char *p = buf + before;
        size_t n = left > size ? size : left;

        if (get(c, p, n) < n) {
            if (!c->broken && !c->mayabort)
                fail("connection %" PRIx64 ", way %d: it ended within a message, after %" PRIu64 " bytes", c->seed, (int)c->way, c->bytes);
            return false;
        }
        verify(c, p, n);
        c->insum += placesum(c->bytes, p, n);
        flip(p, n);
        c->outsum += placesum(c->bytes, p, n);
        c->bytes += n;
        left -= n;
        if (damage(c, p) && !emit(c, buf, before + n))
            return false;
    }
    return true;
}

static void
talk(struct conn *c, unsigned char *buf, size_t size)
{
    uint32_t length = 0;
    size_t r;

    while ((r = get(c, &length, sizeof length)) == sizeof length && length != QUIT)
        if (length > MAXMSG) {
            fail("connection %" PRIx64 ", way %d: a length of %" PRIu32 " after %" PRIu64 " bytes", c->seed, (int)c->way, length, c->bytes);
            return;
        } else if (!echo(c, length, buf, size))
            return;
    if (c->broken)
        return;
    if (r != sizeof length && r != 0) {
        if (!c->mayabort)
            fail("connection %" PRIx64 ", way %d: it ended within a length", c->seed, (int)c->way);
        return;
    }
    memcpy(buf, &(uint32_t){ TRAILER }, sizeof length);
    memcpy(buf + sizeof length, &(struct trailer){ c->bytes, c->insum, c->outsum }, sizeof(struct trailer));
    emit(c, buf, sizeof length + sizeof(struct trailer));
}

static void
settimeout(struct conn *c, int name)
{
    struct timeval tv = { 0, 1000 * (long)(10 + rnd(&c->inrnd, 980)) };

    if (setsockopt(c->fd, SOL_SOCKET, name, &tv, sizeof tv) != 0)
        fail("SO_RCVTIMEO: %s", strerror(errno));
}

/* How this one is to be served comes from its seed. */
static void
prepare(struct conn *c, const struct hello *hello)
{
    uint64_t *state = &c->inrnd;
    uint64_t w;

    c->seed = c->inrnd = hello->seed;
    c->mayabort = hello->mayabort;
    c->began = true;
    w = rnd(state, 1000);
    c->way = w < 4 ? Stdio : (enum way)(w % Stdio);
    c->outrnd = mix(c->seed);
    if (c->way == Stdio) {
        c->in = fdopen(c->fd, "r");
        c->out = fdopen(dup(c->fd), "w");
        if (c->in == NULL || c->out == NULL)
            die("fdopen: %s", strerror(errno));
    } else if (rnd(state, 4) == 0) {
        c->timeouts = true;
        settimeout(c, SO_RCVTIMEO);
        settimeout(c, SO_SNDTIMEO);
    }
}

static void
leak(struct conn *c)
{
    if (options.fault == FaultFd && rnd(&c->inrnd, 50) == 0)
        (void)!dup(0);
    if (options.fault == FaultPage) {
        volatile char *lost = malloc(65536);

        for (int i = 0; lost != NULL && i < 65536; i += 4096)
            lost[i] = 1;
    }
    if (options.fault == FaultThread && rnd(&c->inrnd, 500) == 0) {
        atomic_fetch_sub(&live, 1);
        for (;;)
            pause();
    }
}

static void
withwriter(struct conn *c, unsigned char *buf, size_t size)
{
    struct ring r = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, 0, false };
    pthread_t th;

    r.size = (size_t)1000 << rnd(&c->inrnd, 6);
    if ((r.mem = malloc(r.size)) == NULL)
        die("no memory");
    c->ring = &r;
    totals.handoffs++;
    born();
    th = start(writer, c, false);
    talk(c, buf, size);
    pthread_mutex_lock(&r.lock);
    r.end = true;
    pthread_cond_signal(&r.filled);
    pthread_mutex_unlock(&r.lock);
    pthread_join(th, NULL);
    atomic_fetch_sub(&live, 1);
    c->ring = NULL;
    free(r.mem);
}

/* Begins with the hello, in the way of all. */
void
converse(int fd)
{
    struct conn self = { .fd = fd }, *c = &self;
    unsigned char onstack[BUFSIZE + 4], *buf = onstack;
    struct hello hello;
    size_t size;

    if (get(c, &hello, sizeof hello) != sizeof hello) {
        totals.stillborn++;     /* it was cut; the client knows whether it was to be */
        close(c->fd);
        return;
    }
    if (hello.magic != MAGIC)
        fail("a hello is wrong: %" PRIx64 " %" PRIx32 " %" PRIx32, hello.seed, hello.mayabort, hello.magic);
    prepare(c, &hello);
    size = (size_t)BUFSIZE >> rnd(&c->inrnd, 7);
    if (rnd(&c->inrnd, 2) == 0 && (buf = malloc(size + 4)) == NULL)
        die("no memory");
    if (rnd(&c->inrnd, 10) == 0)
        withwriter(c, buf, size);
    else
        talk(c, buf, size);
    if (c->out != NULL)
        fclose(c->out);
    if (c->in != NULL ? fclose(c->in) : close(c->fd))
        fail("close: %s", strerror(errno));
    if (buf != onstack)
        free(buf);
    *(c->mayabort || c->broken ? &totals.cut : &totals.clean) += 1;
    totals.bytes += c->bytes;
    leak(c);
}

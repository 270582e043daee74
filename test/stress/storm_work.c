/* The threads of the storm that do I/O, locks and sleeps. Each checks what it can see: bytes, sums, pairs of
 * counters under a lock, deadlines, and that a call was only interrupted where a handler has run. */
#include "storm.h"
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct stream { int fd[2]; _Atomic uint64_t sent; };
struct guarded {
    pthread_mutex_t lock;
    pthread_rwlock_t rw;
    unsigned long a, b;                 /* equal when nobody holds the lock */
    _Atomic unsigned long expect;
};
enum { RING = 16, GROUP = 8 };
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t notempty, notfull;
    uint64_t ring[RING];
    unsigned head, tail;
    int producers;
    bool closed;
    uint64_t in, out;
};

static struct stream *pipes, *socks;
static struct guarded *guards, rwguard;
static struct queue *queues;
static int npipes, nsocks, nguards, nqueues;

static unsigned char
octet(int id, uint64_t at)
{
    return (unsigned char)((at * 2654435761u >> 11) ^ (at >> 3) ^ (uint64_t)id);
}

static void
fill(unsigned char *b, int id, uint64_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = octet(id, at + i);
}

static void
verify(const unsigned char *b, int id, uint64_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (b[i] != octet(id, at + i))
            fail("stream %d: byte %llu is %d, not %d", id, (unsigned long long)(at + i), b[i], octet(id, at + i));
}

static ssize_t
sendsome(int fd, unsigned char *b, size_t n, int way)
{
    struct iovec v[2] = { { b, n / 2 }, { b + n / 2, n - n / 2 } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

    switch (way) {
    case 0: return write(fd, b, n);
    case 1: return writev(fd, v, 2);
    case 2: return send(fd, b, n, MSG_NOSIGNAL);
    default: return sendmsg(fd, &m, MSG_NOSIGNAL);
    }
}

static void
streamout(struct slot *s, struct stream *st, int ways)
{
    unsigned char buf[8192];
    uint64_t at = 0;

    while (!phaseis(Stopping)) {
        size_t n = 1 + rnd(&s->rnd, rnd(&s->rnd, 4) == 0 ? sizeof buf : 64);

        fill(buf, s->nth, at, n);
        for (size_t done = 0; done < n;) {
            MARK;
            ssize_t r = sendsome(st->fd[1], buf + done, n - done, (int)rnd(&s->rnd, (uint64_t)ways));

            if (r < 0 && errno == EINTR)
                EINTRCHECK("write", true);
            else if (r <= 0)
                fail("write: %zd, %s", r, strerror(errno));
            else
                done += (size_t)r;
        }
        at += n;
        step("write");
        if (rnd(&s->rnd, 3) == 0)
            pausefor((long)rnd(&s->rnd, 20000));
    }
    atomic_store(&st->sent, at);
    if (ways > 2)
        shutdown(st->fd[1], SHUT_WR);
    else
        close(st->fd[1]);
}

/* Waits until fd is readable, by a call that handlers always interrupt, or for a while. */
static void
waitreadable(struct slot *s, int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };
    struct timeval tv = { 0, 20000 };
    fd_set set;
    int r;

    MARK;
    if (fd >= FD_SETSIZE || rnd(&s->rnd, 2) == 0) {
        r = poll(&p, 1, 20);
    } else {
        FD_ZERO(&set);
        FD_SET(fd, &set);
        r = select(fd + 1, &set, NULL, NULL, &tv);
    }
    if (r < 0 && errno == EINTR)
        EINTRCHECK("poll", false);
    else if (r < 0 || r > 1)
        fail("poll: %d, %s", r, strerror(errno));
}

static ssize_t
receivesome(int fd, unsigned char *b, size_t n, int way)
{
    struct iovec v[2] = { { b, n / 2 }, { b + n / 2, n - n / 2 } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

    switch (way) {
    case 0: return read(fd, b, n);
    case 1: return readv(fd, v, 2);
    case 2: return recv(fd, b, n, 0);
    default: return recvmsg(fd, &m, 0);
    }
}

static void
streamin(struct slot *s, struct stream *st, int ways)
{
    unsigned char buf[8192];
    uint64_t at = 0;

    for (;;) {
        if (rnd(&s->rnd, 4) == 0)
            waitreadable(s, st->fd[0]);
        MARK;
        ssize_t r = receivesome(st->fd[0], buf, 1 + rnd(&s->rnd, sizeof buf), (int)rnd(&s->rnd, (uint64_t)ways));

        if (r < 0 && errno == EINTR) {
            EINTRCHECK("read", true);
            continue;
        }
        if (r < 0)
            fail("read: %s", strerror(errno));
        step("read");
        if (r == 0)
            break;
        verify(buf, s->nth, at, (size_t)r);
        at += (size_t)r;
    }
    if (at != atomic_load(&st->sent))
        fail("stream %d: %llu bytes sent, %llu received", s->nth, (unsigned long long)atomic_load(&st->sent), (unsigned long long)at);
    atomic_fetch_add(&storm->bytes, at);
}

void pipe_writer(struct slot *s) { streamout(s, &pipes[s->nth], 2); }
void pipe_reader(struct slot *s) { streamin(s, &pipes[s->nth], 2); }
void sock_writer(struct slot *s) { streamout(s, &socks[s->nth], 4); }
void sock_reader(struct slot *s) { streamin(s, &socks[s->nth], 4); }

static bool
acquire(struct slot *s, pthread_mutex_t *m)
{
    struct timespec ts;
    int e;

    switch (rnd(&s->rnd, 4)) {
    case 0:
        e = pthread_mutex_trylock(m);
        if (e == EBUSY)
            return false;
        break;
    case 1:
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_nsec += (long)rnd(&s->rnd, 2000000);
        if (ts.tv_nsec >= 1000000000)
            ts.tv_sec++, ts.tv_nsec -= 1000000000;
        e = pthread_mutex_timedlock(m, &ts);
        if (e == ETIMEDOUT)
            return false;
        break;
    default:
        e = pthread_mutex_lock(m);
    }
    must(e, "pthread_mutex_lock");
    return true;
}

static void
change(struct slot *s, struct guarded *g)
{
    if (g->a != g->b)
        fail("two threads hold one lock: %lu, %lu", g->a, g->b);
    g->a++;
    if (rnd(&s->rnd, 8) == 0)
        sched_yield();
    else if (rnd(&s->rnd, 32) == 0)
        pausefor((long)rnd(&s->rnd, 500));
    g->b++;
    atomic_fetch_add(&g->expect, 1);
    atomic_fetch_add(&storm->locks, 1);
}

void
locker(struct slot *s)
{
    struct guarded *g = &guards[s->nth / GROUP];

    while (!phaseis(Stopping)) {
        step("lock");
        if (acquire(s, &g->lock)) {
            change(s, g);
            must(pthread_mutex_unlock(&g->lock), "pthread_mutex_unlock");
        }
        pausefor((long)rnd(&s->rnd, 8000));
    }
}

void
rwlocker(struct slot *s)
{
    while (!phaseis(Stopping)) {
        step("rwlock");
        if (rnd(&s->rnd, 4) == 0) {
            must(pthread_rwlock_wrlock(&rwguard.rw), "pthread_rwlock_wrlock");
            change(s, &rwguard);
        } else {
            must(pthread_rwlock_rdlock(&rwguard.rw), "pthread_rwlock_rdlock");
            if (rwguard.a != rwguard.b)
                fail("a reader beside a writer");
        }
        must(pthread_rwlock_unlock(&rwguard.rw), "pthread_rwlock_unlock");
        pausefor((long)rnd(&s->rnd, 8000));
    }
}

void
producer(struct slot *s)
{
    struct queue *q = &queues[s->nth / GROUP];

    while (!phaseis(Stopping)) {
        uint64_t item = rnd(&s->rnd, UINT32_MAX);

        step("produce");
        must(pthread_mutex_lock(&q->lock), "pthread_mutex_lock");
        while (q->tail - q->head == RING)
            must(pthread_cond_wait(&q->notfull, &q->lock), "pthread_cond_wait");
        q->ring[q->tail++ % RING] = item;
        q->in += item;
        must(pthread_cond_signal(&q->notempty), "pthread_cond_signal");
        must(pthread_mutex_unlock(&q->lock), "pthread_mutex_unlock");
        pausefor((long)rnd(&s->rnd, 4000));
    }
    must(pthread_mutex_lock(&q->lock), "pthread_mutex_lock");
    if (--q->producers == 0) {
        q->closed = true;
        must(pthread_cond_broadcast(&q->notempty), "pthread_cond_broadcast");
    }
    must(pthread_mutex_unlock(&q->lock), "pthread_mutex_unlock");
}

void
consumer(struct slot *s)
{
    struct queue *q = &queues[s->nth / GROUP];

    must(pthread_mutex_lock(&q->lock), "pthread_mutex_lock");
    for (;;) {
        step("consume");
        while (q->tail == q->head && !q->closed)
            must(pthread_cond_wait(&q->notempty, &q->lock), "pthread_cond_wait");
        if (q->tail == q->head)
            break;
        q->out += q->ring[q->head++ % RING];
        atomic_fetch_add(&storm->items, 1);
        must(pthread_cond_signal(&q->notfull), "pthread_cond_signal");
        must(pthread_mutex_unlock(&q->lock), "pthread_mutex_unlock");
        if (rnd(&s->rnd, 4) == 0)
            pausefor((long)rnd(&s->rnd, 2000));
        must(pthread_mutex_lock(&q->lock), "pthread_mutex_lock");
    }
    must(pthread_mutex_unlock(&q->lock), "pthread_mutex_unlock");
}

/* Sleeps by every call that sleeps; pausefor checks. A semaphore that nobody posts is one more. */
void
sleeper(struct slot *s)
{
    sem_t never;

    sem_init(&never, 0, 0);
    while (!phaseis(Stopping)) {
        struct timespec ts, now;
        int r;

        pausefor((long)rnd(&s->rnd, 30000));
        step("sem_timedwait");
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_nsec += (long)rnd(&s->rnd, 20000000);
        if (ts.tv_nsec >= 1000000000)
            ts.tv_sec++, ts.tv_nsec -= 1000000000;
        MARK;
        r = sem_timedwait(&never, &ts);
        clock_gettime(CLOCK_REALTIME, &now);
        if (r == 0 || (errno != ETIMEDOUT && errno != EINTR))
            fail("sem_timedwait: %d, %s", r, strerror(errno));
        if (errno == EINTR)
            EINTRCHECK("sem_timedwait", false);
        else if (now.tv_sec < ts.tv_sec || (now.tv_sec == ts.tv_sec && now.tv_nsec < ts.tv_nsec))
            fail("sem_timedwait: too early");
        atomic_fetch_add(&storm->sleeps, 1);
    }
    sem_destroy(&never);
}

/* Changes its mask at random; what it blocks must not be handled here (`closed`, looked at by the handlers). */
void
masker(struct slot *s)
{
    static const int some[] = { RtHandler, RtProcess, RtWrite, RtPost };
    volatile unsigned long work = 0;

    while (!phaseis(Stopping)) {
        uint64_t mask = 0, bits = rnd(&s->rnd, 64);

        for (unsigned i = 0; i < 4; i++)
            if (bits >> i & 1)
                mask |= sigbit(SIG(some[i]));
        mask |= bits & 16 ? sigbit(SIGUSR1) : 0;
        mask |= bits & 32 ? sigbit(SIGUSR2) : 0;
        step("mask");
        blocksignals(SIG_BLOCK, mask);
        closed = mask;
        if (rnd(&s->rnd, 2))
            pausefor((long)rnd(&s->rnd, 3000));
        else
            for (uint64_t n = rnd(&s->rnd, 20000); n > 0; n--)
                work += n;
        closed = 0;
        blocksignals(SIG_UNBLOCK, mask);
        pausefor((long)rnd(&s->rnd, 8000));
    }
}

void
work_init(int np, int ns, int nl, int nq)
{
    static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
    pthread_mutexattr_t ma;

    npipes = np, nsocks = ns, nguards = (nl + GROUP - 1) / GROUP, nqueues = (nq + GROUP - 1) / GROUP;
    pipes = calloc((size_t)np + 1, sizeof *pipes);
    socks = calloc((size_t)ns + 1, sizeof *socks);
    guards = calloc((size_t)nguards + 1, sizeof *guards);
    queues = calloc((size_t)nqueues + 1, sizeof *queues);
    for (int i = 0; i < np; i++)
        must(pipe(pipes[i].fd), "pipe");
    for (int i = 0; i < ns; i++)
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, socks[i].fd), "socketpair");
    pthread_mutexattr_init(&ma);
    for (int i = 0; i < nguards; i++) {
        pthread_mutexattr_settype(&ma, types[i % 4]);
        pthread_mutex_init(&guards[i].lock, &ma);
    }
    pthread_rwlock_init(&rwguard.rw, NULL);
    for (int i = 0; i < nqueues; i++) {
        pthread_mutex_init(&queues[i].lock, NULL);
        pthread_cond_init(&queues[i].notempty, NULL);
        pthread_cond_init(&queues[i].notfull, NULL);
        queues[i].producers = nq - i * GROUP < GROUP ? nq - i * GROUP : GROUP;
    }
}

/* All is over: no lock is held, nothing is missing. */
void
work_check(void)
{
    for (int i = 0; i < nguards; i++) {
        must(pthread_mutex_trylock(&guards[i].lock), "trylock of a mutex at the end");
        if (guards[i].a != guards[i].b || guards[i].a != guards[i].expect)
            fail("mutex %d: %lu, %lu, %lu changes", i, guards[i].a, guards[i].b, guards[i].expect);
        pthread_mutex_unlock(&guards[i].lock);
        must(pthread_mutex_destroy(&guards[i].lock), "pthread_mutex_destroy");
    }
    must(pthread_rwlock_trywrlock(&rwguard.rw), "trywrlock at the end");
    if (rwguard.a != rwguard.b || rwguard.a != rwguard.expect)
        fail("rwlock: %lu, %lu, %lu changes", rwguard.a, rwguard.b, rwguard.expect);
    for (int i = 0; i < nqueues; i++)
        if (queues[i].in != queues[i].out || queues[i].head != queues[i].tail)
            fail("queue %d: %llu in, %llu out", i, (unsigned long long)queues[i].in, (unsigned long long)queues[i].out);
}

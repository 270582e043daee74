/* The client of the soak: one thread and an epoll, edge-triggered. Each connection has its plan, which follows from the
 * run's seed and its number: see soak.c.
 */
#include "soak.h"
#include <arpa/inet.h>
#include <sys/epoll.h>

/* Brief: a message or two. Chat: one message at a time, thinking between. Pipeline: does not wait for the answers.
 * Slow: much, and reads it little by little, so that the server has to wait in the middle of a message. Idle: mostly silent. */
enum plan { Brief, Chat, Pipeline, Slow, Idle };
enum ending { HalfClose, Quit, Cut };
enum state { Free, Connecting, Talking, Closing };      /* Closing: it sends no more */
enum { SOURCES = 64, FRESH = 1000, RESETS = 2 };

struct conn {
    int fd, fresh;              /* fresh: nothing has come yet */
    enum state state;
    enum plan plan;
    enum ending ending;
    bool canread, canwrite;
    uint64_t seed, rnd;
    uint32_t nmsgs, sent, back;         /* messages: in all, begun, come back */
    unsigned char head[16], rhead[4 + sizeof(struct trailer)];
    uint32_t headlen, headdone, txleft, rheadlen, rxleft;
    uint64_t tx, rx, txsum, rxsum, cutat;
    int64_t talkat, readat, moved;
};

struct counts counts;
static struct conn *conns;
static int64_t *wake;           /* of each, when it has something to do without an event */
static int *frees, nfree, nfresh, epfd;
static uint64_t number, state;
static bool draining;
static unsigned char buf[MAXMSG], want[MAXMSG];

static int64_t
ms(uint64_t n)
{
    return (int64_t)n * 1000000;
}

static uint32_t
msglen(const struct conn *c, uint32_t k)
{
    uint64_t r = mix(c->seed ^ (k + 1) * UINT64_C(0xD6E8FEB86659FD93));
    uint32_t bits = (uint32_t)(r % 17);

    if (c->plan == Slow)
        return MAXMSG / 2 + (uint32_t)(r >> 32) % (MAXMSG / 2 + 1);
    return bits == 16 ? MAXMSG : (1u << bits) + ((uint32_t)(r >> 32) & ((1u << bits) - 1));
}

static void
release(struct conn *c)
{
    nfresh -= c->fresh;
    close(c->fd);
    c->state = Free;
    wake[c - conns] = INT64_MAX;
    frees[nfree++] = (int)(c - conns);
}

static void
wrong(struct conn *c, const char *what)
{
    fail("connection %" PRIx64 " (plan %d, end %d), %" PRIu64 " bytes out, %" PRIu64 " back, message %u of %u: %s", c->seed, (int)c->plan,
         (int)c->ending, c->tx, c->rx, c->back, c->nmsgs, what);
    release(c);
}

static void
cut(struct conn *c)
{
    if (rnd(&c->rnd, 4) != 0)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
    counts.cut++;
    release(c);
}

static void
setplan(struct conn *c)
{
    static const enum plan plans[] = { Brief, Brief, Brief, Brief, Chat, Chat, Chat, Chat, Pipeline, Pipeline, Slow, Idle };
    uint64_t r;

    c->plan = plans[rnd(&c->rnd, sizeof plans / sizeof plans[0])];
    r = rnd(&c->rnd, 10);
    c->ending = r < 5 ? HalfClose : r < 8 ? Quit : Cut;
    c->nmsgs = c->plan == Brief ? (uint32_t)rnd(&c->rnd, 3) : c->plan == Idle ? 2 + (uint32_t)rnd(&c->rnd, 3) :
               8 + (uint32_t)rnd(&c->rnd, 24);
    c->cutat = c->ending == Cut && rnd(&c->rnd, 2) == 0 ? rnd(&c->rnd, 100000) : UINT64_MAX;
}

/* From one of many addresses, as a port is not free again for a minute. */
static void
opened(const int ports[2])
{
    struct conn *c = &conns[frees[nfree - 1]];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK + (uint32_t)(number % SOURCES)) } };
    struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u32 = (uint32_t)frees[nfree - 1] };
    int size = 65536, yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
    if (number % 2 == 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
        die("bind: %s", strerror(errno));
    number++;
    a = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) }, .sin_port = htons((uint16_t)ports[rnd(&state, 2)]) };
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0 && errno != EINPROGRESS) {
        if (errno != EADDRNOTAVAIL)
            die("connect: %s", strerror(errno));
        counts.noport++;
        close(fd);
        return;
    }
    nfree--;
    *c = (struct conn){ .fd = fd, .fresh = 1, .state = Connecting, .seed = mix(options.seed + number), .moved = now() };
    c->rnd = c->seed;
    setplan(c);
    memcpy(c->head, &(struct hello){ c->seed, c->ending == Cut, MAGIC }, sizeof(struct hello));
    c->headlen = sizeof(struct hello);
    nfresh++;
    counts.opened++;
    if (options.connections - nfree > counts.most)
        counts.most = options.connections - nfree;
    if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

/* All is sent that was begun: what is next? */
static bool
next(struct conn *c, int64_t t)
{
    uint32_t length = QUIT;
    /* so that all together send some thousand messages a second */
    uint64_t think = (uint64_t)options.connections / 4;

    if (c->sent < c->nmsgs) {
        if (t < c->talkat || (c->back < c->sent && c->plan != Slow && c->plan != Pipeline))
            return false;
        length = c->txleft = msglen(c, c->sent++);
        counts.messages++;
        c->talkat = t + ms(draining || c->plan == Slow ? 0 : rnd(&c->rnd, c->plan == Idle ? 20000 : think));
    } else if (c->ending == Cut && t >= c->talkat) {
        cut(c);
        return false;
    } else if (c->ending != Quit) {
        c->state = c->ending == HalfClose ? Closing : c->state;
        if (c->ending == HalfClose && shutdown(c->fd, SHUT_WR) != 0)
            wrong(c, strerror(errno));
        return false;
    }
    memcpy(c->head, &length, sizeof length);
    c->headlen = sizeof length;
    c->headdone = 0;
    return true;
}

static bool
speak(struct conn *c, int64_t t)
{
    ssize_t n;

    if (!c->canwrite || c->state != Talking || (c->headdone == c->headlen && c->txleft == 0 && !next(c, t)))
        return false;
    if (c->headdone < c->headlen) {
        n = send(c->fd, c->head + c->headdone, c->headlen - c->headdone, MSG_NOSIGNAL | (c->txleft > 0 ? MSG_MORE : 0));
        c->headdone += n > 0 ? (uint32_t)n : 0;
        if (c->headdone == c->headlen && c->headlen == sizeof(uint32_t) && c->txleft == 0)
            c->state = Closing;         /* that was QUIT */
    } else {
        size_t some = c->txleft > 16384 ? 16384 : c->txleft;

        pattern(c->seed, c->tx, buf, some);
        n = send(c->fd, buf, some, MSG_NOSIGNAL);
        if (n > 0) {
            c->txsum += placesum(c->tx, buf, (size_t)n);
            c->tx += (uint64_t)n;
            c->txleft -= (uint32_t)n;
        }
    }
    c->canwrite = n >= 0;
    if (n < 0 && errno != EAGAIN)
        wrong(c, strerror(errno));
    else if (c->tx >= c->cutat)
        cut(c);
    if (n > 0)
        c->moved = t;
    return n > 0 && c->state == Talking;
}

/* The trailer has come, and the end of the stream. */
static void
finish(struct conn *c)
{
    struct trailer t;

    memcpy(&t, c->rhead + 4, sizeof t);
    if (c->rheadlen != sizeof c->rhead)
        wrong(c, c->rheadlen == 0 ? "the end of the stream without a trailer" : "the end of the stream within a length or the trailer");
    else if (c->rx != c->tx || c->back != c->sent || t.bytes != c->tx)
        wrong(c, "the end of the stream, but bytes are missing");
    else if (t.insum != c->txsum || t.outsum != c->rxsum)
        wrong(c, "the sums differ");
    else {
        counts.clean++;
        release(c);
    }
}

/* What has come: p up to p + n. False: it is wrong, and the connection is gone. */
static bool
parse(struct conn *c, unsigned char *p, size_t n)
{
    while (n > 0) {
        uint32_t head = 0;
        size_t some = c->rxleft < n ? c->rxleft : n;

        if (some > 0) {
            pattern(c->seed, c->rx, want, some);
            c->rxsum += placesum(c->rx, p, some);
            flip(want, some);
            if (memcmp(want, p, some) != 0)
                return wrong(c, "what came back is wrong"), false;
            c->rx += some;
            c->rxleft -= (uint32_t)some;
            c->back += c->rxleft == 0;
            p += some;
            n -= some;
            continue;
        }
        if (c->rheadlen == sizeof c->rhead)
            return wrong(c, "bytes after the trailer"), false;
        c->rhead[c->rheadlen++] = *p++;
        n--;
        memcpy(&head, c->rhead, sizeof head);
        if (c->rheadlen != sizeof head || (head == TRAILER && c->state == Closing))
            continue;
        if (c->back >= c->sent || head != msglen(c, c->back))
            return wrong(c, "a length is wrong"), false;
        c->rxleft = head;
        c->rheadlen = 0;
    }
    return true;
}

static bool
hear(struct conn *c, int64_t t)
{
    ssize_t n;

    if (!c->canread || t < c->readat || (c->state != Talking && c->state != Closing))
        return false;
    n = recv(c->fd, buf, c->plan == Slow ? 1 + rnd(&c->rnd, 16384) : sizeof buf, 0);
    if (n > 0) {
        nfresh -= c->fresh;
        c->fresh = 0;
        c->moved = t;
        counts.bytes += (uint64_t)n;
        if (c->plan == Slow)
            c->readat = t + ms(rnd(&c->rnd, draining ? 4 : 40));
        return parse(c, buf, (size_t)n);
    }
    c->canread = false;
    if (n == 0)
        finish(c);
    else if (errno != EAGAIN)
        wrong(c, strerror(errno));
    return false;
}

static void
run(struct conn *c)
{
    int64_t t = now(), at = INT64_MAX;
    int budget = 16;
    bool more = true;

    if (c->state == Connecting && c->canwrite) {
        int e = 0;
        socklen_t len = sizeof e;

        getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &len);
        if (e != 0) {
            wrong(c, strerror(e));
            return;
        }
        c->state = Talking;
    }
    for (; more && budget > 0; budget--) {
        more = speak(c, t);
        more = hear(c, t) || more;
    }
    if (c->state == Free)
        return;
    if (more)
        at = t;
    if (c->canread && c->readat > t)
        at = c->readat;
    if (c->state == Talking && c->talkat > t && c->talkat < at)
        at = c->talkat;
    wake[c - conns] = at;
}

/* Whoever waits for the server, and not for its own time to come. */
static bool
stalls(struct conn *c, int64_t t)
{
    bool waits = c->state == Connecting || c->state == Closing || c->back < c->sent || c->headdone < c->headlen;

    if (!waits || t - c->moved < ms(1000) * options.stall)
        return false;
    fail("connection %" PRIx64 " (plan %d, end %d) has stood still for %d s: state %d, %" PRIu64 " bytes out, %" PRIu64 " back, message %u of %u",
         c->seed, (int)c->plan, (int)c->ending, options.stall, (int)c->state, c->tx, c->rx, c->back, c->nmsgs);
    return true;
}

/* Runs those whose time has come; signals the server. False: some stand still. */
static bool
tick(int64_t t)
{
    static const int sigs[] = { 0, 0, SIGALRM };
    static int64_t lastlook, lastsignal;
    int stalled = 0;

    for (int i = 0; i < options.connections; i++)
        if (wake[i] <= t)
            run(&conns[i]);
    if (t - lastsignal > ms(20)) {
        int which = (int)rnd(&state, 3);

        lastsignal = t;
        kill(options.server, which == 0 ? SIGUSR1 : which == 1 ? SIGUSR2 : sigs[which]);
    }
    if (t - lastlook < ms(1000))
        return true;
    lastlook = t;
    for (int i = 0; i < options.connections; i++)
        stalled += conns[i].state != Free && stalls(&conns[i], t);
    if (stalled != 0)
        fail("%d connections of %d stand still", stalled, options.connections - nfree);
    return stalled == 0;
}

/* No more connections, and no more messages than were begun. */
static void
drain(void)
{
    draining = true;
    for (int i = 0; i < options.connections; i++)
        if (conns[i].state != Free) {
            conns[i].nmsgs = conns[i].sent;
            conns[i].talkat = 0;
            run(&conns[i]);
        }
}

static void
setup(void)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u32 = UINT32_MAX };

    conns = calloc((size_t)options.connections, sizeof *conns);
    wake = calloc((size_t)options.connections, sizeof *wake);
    frees = calloc((size_t)options.connections, sizeof *frees);
    epfd = epoll_create1(EPOLL_CLOEXEC);
    if (conns == NULL || wake == NULL || frees == NULL || epoll_ctl(epfd, EPOLL_CTL_ADD, options.from, &ev) != 0)
        die("setup: %s", strerror(errno));
    for (nfree = 0; nfree < options.connections; nfree++) {
        frees[nfree] = nfree;
        wake[nfree] = INT64_MAX;
    }
    state = options.seed;
}

bool
load(const int ports[2], double seconds)
{
    int64_t t = now(), end = t + (int64_t)(seconds * 1e9), scan = 0;
    struct epoll_event ev[512];

    if (conns == NULL)
        setup();
    draining = false;
    while (!draining || nfree < options.connections) {
        int n = epoll_wait(epfd, ev, 512, 5);

        for (int i = 0; i < n; i++) {
            struct conn *c = &conns[ev[i].data.u32];

            if (ev[i].data.u32 == UINT32_MAX) {
                fail("the server has ended while %d connections were open", options.connections - nfree);
                return false;
            }
            if (c->state == Free)
                continue;       /* it went in this round */
            c->canread |= (ev[i].events & ~(uint32_t)EPOLLOUT) != 0;
            c->canwrite |= (ev[i].events & ~(uint32_t)(EPOLLIN | EPOLLRDHUP)) != 0;
            run(c);
        }
        if ((t = now()) > end && !draining)
            drain();
        for (int i = 0; i < 64 && !draining && nfree > 0 && nfresh < FRESH; i++)
            opened(ports);
        if (t - scan < ms(5))
            continue;
        scan = t;
        if (!tick(t))
            return false;
    }
    return true;
}

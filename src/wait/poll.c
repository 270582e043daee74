/* poll, select and epoll_wait: waiting for several fds at once.
 *
 * Readiness is the kernel's to judge: the call itself is made with a timeout of zero. If nothing is
 * ready, the G queues on every fd of the set and parks until an edge on one of them, then asks again. An
 * edge that came before it was queued is seen by the edge counts, or, where an fd was registered only
 * now, by asking once more. What epoll cannot watch, sets beyond MAXFDS, and epoll_wait wait in the kernel.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include <errno.h>
#include <poll.h>
#include <string.h>

enum { MAXFDS = 64 };

struct want {
    int fd;
    uint8_t mode;               /* as pdwait's */
};

/* Asks the kernel; > 0, 0 or -errno. */
struct asker {
    long (*ask)(struct asker *);
    struct pollfd *fds;
    nfds_t n;
    int nfds;                   /* select */
    fd_set *in[3], *out[3];
};

static uint32_t
edges(struct polldesc *pd)
{
    return load_acq(&pd->rseq) + load_acq(&pd->wseq);
}

/* Pinned. */
static void
leavequeues(struct pdwait *w, int n)
{
    for (int i = 0; i < n; i++)
        pddequeue(&w[i]);
}

/* Queues on all fds; how many were (the rest could not), or 0 with *sure false if an edge came meanwhile.
 * gp->wake must be armed: the first queue already may claim us. */
static int
joinqueues(struct g *gp, struct pdwait *w, const struct want *want, int n, const uint32_t *seq, bool *sure)
{
    int i;

    acquirem(gp);
    *sure = true;
    for (i = 0; i < n; i++) {
        struct polldesc *pd = pdpeek(want[i].fd);

        lock(&pd->lock);
        if (!load_rlx(&pd->registered))
            *sure = false;
        if (!netpollopen(want[i].fd, pd)) {
            unlock(&pd->lock);
            break;
        }
        w[i] = (struct pdwait){ .gp = gp, .mode = want[i].mode };
        pdenqueue(pd, &w[i], 'p');
        if (edges(pd) != seq[i])
            *sure = false;
        unlock(&pd->lock);
    }
    releasem(gp);
    return i;
}

/* Out of gopark without having slept: the claim is ours or somebody else's, it does not matter. */
static void
disarm(struct g *gp)
{
    bool parked;

    gclaim(&gp->wake, WakeSignal, &parked);
}

/* Without waiting. The kernel says -EINTR even then if a signal comes at that moment, also to our SIGURG. */
static long
asking(struct g *gp, struct asker *a)
{
    long r;

    do
        r = a->ask(a);
    while (r == -EINTR && !gp->sigran);
    return r;
}

/* > 0 or -errno from ask; 0: time is up; -EPERM: cannot be done here. */
static long
waitfds(struct g *gp, struct asker *a, const struct want *want, int n, int64_t when)
{
    struct pdwait w[MAXFDS];
    uint32_t seq[MAXFDS];
    bool expired = false;

    signal_begin(gp);
    for (;;) {
        uint32_t wake;
        bool sure;
        long r;
        int queued;

        for (int i = 0; i < n; i++) {
            struct polldesc *pd = pdget(want[i].fd);

            if (pd == NULL || load_rlx(&pd->class) == FdSignal)
                return -EPERM;  /* the latter shows what is this thread's: no business of the poller's */
            seq[i] = edges(pd);
        }
        r = asking(gp, a);
        if (r != 0 || expired)
            return r;
        acquirem(gp);           /* until the wait is undone: handlers may wait themselves */
        store_rlx(&gp->wake, WakeArmed);
        queued = joinqueues(gp, w, want, n, seq, &sure);
        if (queued < n || (!sure && (r = asking(gp, a)) != 0)) {
            disarm(gp);
            leavequeues(w, queued);
            releasem(gp);
            return queued < n ? -EPERM : r;
        }
        if (when != 0)
            timeradd(gp->m->p, &gp->timer, when);
        gp->waiton = n > 0 ? (uint64_t)(n - 1) << 32 | (uint32_t)want[0].fd : UINT32_MAX;
        wake = gopark(gp, WaitPoll);
        if (when != 0)
            timerdel(&gp->timer);
        leavequeues(w, n);
        releasem(gp);
        if ((wake == WakeSignal || wake == WakeCancel) && (gp->sigran || cancelnow(gp)))
            return -EINTR;
        expired = wake == WakeTimeout;
    }
}

static int64_t
until(int64_t ns)
{
    int64_t now = nanotime();

    return ns < 0 ? 0 : ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

static void
timeleft(int64_t *ns, int64_t when)
{
    if (*ns > 0) {
        *ns = when - nanotime();
        if (*ns < 0)
            *ns = 0;
    }
}

/* The kernel's own call, where signalfds show what is pending for this thread, too. Where a sender breaks it off it goes on with
 * the time that is left, which the kernel writes back. */
static long
inkernel(bool waits, long nr, long a, long b, long c, long d, long e)
{
    const long call[7] = { nr, a, b, c, d, e, 0 };
    bool again;
    long r;

    if (likely(!load_rlx(&signalfds)) || getg() == NULL)
        return io_syscall(waits ? Blocks : 0, nr, a, b, c, d, e, 0);
    do
        r = signal_showing(waits ? Blocks : 0, call, &again);
    while (again);
    return r;
}

/* ---- poll ---- */

static long
askpoll(struct asker *a)
{
    return sys3(SYS_poll, A(a->fds), A(a->n), 0);
}

static long
kernelpoll(struct pollfd *fds, nfds_t n, int64_t ns)
{
    struct timespec ts = { ns / 1000000000, ns % 1000000000 };

    return inkernel(ns != 0, SYS_ppoll, A(fds), A(n), ns < 0 ? 0 : A(&ts), 0, 8);
}

static uint8_t
modeof(short events)
{
    uint8_t mode = PdHup;

    if (events & (POLLIN | POLLRDNORM | POLLRDBAND))
        mode |= PdRead;
    if (events & (POLLOUT | POLLWRNORM | POLLWRBAND))
        mode |= PdWrite;
    if (events & (POLLPRI | POLLRDBAND))
        mode |= PdPri;
    return mode;
}

static int
wantedpoll(const struct pollfd *fds, nfds_t nfds, struct want *want)
{
    enum { LONGEST = 4096 };
    int n = 0;

    if (nfds > LONGEST)         /* more may not even be there */
        return -1;
    for (nfds_t i = 0; i < nfds; i++) {
        if (fds[i].fd < 0)
            continue;
        if (n == MAXFDS || pdpeek(fds[i].fd) == NULL)
            return -1;
        want[n++] = (struct want){ fds[i].fd, modeof(fds[i].events) };
    }
    return n;
}

long
poll_poll(struct pollfd *fds, nfds_t n, int64_t *ns)
{
    struct asker a = { .ask = askpoll, .fds = fds, .n = n };
    struct want want[MAXFDS];
    struct g *gp = getg();
    int64_t when = *ns < 0 ? 0 : until(*ns);
    int nwant;
    long r;

    if (gp == NULL || *ns == 0) {
        r = gp != NULL && !load_rlx(&signalfds) ? asking(gp, &a) : kernelpoll(fds, n, *ns);
        if (gp != NULL)
            preemptpoint(gp);
        return r;
    }
    nwant = wantedpoll(fds, n, want);
    r = nwant < 0 ? -EPERM : waitfds(gp, &a, want, nwant, when);
    if (r == -EPERM)
        r = kernelpoll(fds, n, *ns);
    timeleft(ns, when);
    return r;
}

/* ---- select ---- */

static size_t
setbytes(int n)
{
    return ((size_t)n + 63) / 64 * 8;
}

static long
askselect(struct asker *a)
{
    struct timeval zero = { 0, 0 };

    for (int i = 0; i < 3; i++)
        if (a->in[i] != NULL)
            memcpy(a->out[i], a->in[i], setbytes(a->nfds));
    return sys6(SYS_select, a->nfds, A(a->out[0]), A(a->out[1]), A(a->out[2]), A(&zero), 0);
}

static long
kernelselect(struct asker *a, int64_t ns)
{
    struct timespec ts = { ns / 1000000000, ns % 1000000000 };

    for (int i = 0; i < 3; i++)
        if (a->in[i] != NULL)
            memcpy(a->out[i], a->in[i], setbytes(a->nfds));
    return inkernel(ns != 0, SYS_pselect6, a->nfds, A(a->out[0]), A(a->out[1]), A(a->out[2]), ns < 0 ? 0 : A(&ts));
}

static int
wanted(struct asker *a, struct want *want)
{
    static const uint8_t modes[3] = { PdRead, PdWrite, PdPri };
    int n = 0;

    for (int fd = 0; fd < a->nfds; fd++) {
        uint8_t mode = 0;

        for (int i = 0; i < 3; i++)
            if (a->in[i] != NULL && FD_ISSET(fd, a->in[i]))
                mode |= modes[i];
        if (mode == 0)
            continue;
        if (n == MAXFDS || pdpeek(fd) == NULL)
            return -1;
        want[n++] = (struct want){ fd, mode };
    }
    return n;
}

/* Sets of more than FD_SETSIZE bits (programs that allocate their own) wait in the kernel. */
long
poll_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, int64_t *ns)
{
    fd_set in[3];
    struct asker a = { .ask = askselect, .nfds = n, .out = { rd, wr, ex } };
    struct want want[MAXFDS];
    struct g *gp = getg();
    int64_t when = *ns < 0 ? 0 : until(*ns);
    struct timespec ts = { *ns / 1000000000, *ns % 1000000000 };
    int nwant;
    long r = -EPERM;

    if (gp == NULL || n < 0 || n > FD_SETSIZE) {
        r = inkernel(*ns != 0, SYS_pselect6, n, A(rd), A(wr), A(ex), *ns < 0 ? 0 : A(&ts));
        timeleft(ns, when);
        return r;
    }
    for (int i = 0; i < 3; i++)
        if (a.out[i] != NULL) {
            memcpy(&in[i], a.out[i], setbytes(n));
            a.in[i] = &in[i];
        }
    nwant = wanted(&a, want);
    if (*ns == 0 && !load_rlx(&signalfds)) {
        r = asking(gp, &a);
        preemptpoint(gp);
        return r;
    }
    if (nwant >= 0 && *ns != 0)
        r = waitfds(gp, &a, want, nwant, when);
    if (r == -EPERM)
        r = kernelselect(&a, *ns);
    for (int i = 0; i < 3 && r < 0; i++)
        if (a.out[i] != NULL)
            memcpy(a.out[i], &in[i], setbytes(n));      /* as they were, as Linux leaves them */
    timeleft(ns, when);
    return r;
}

/* ---- epoll ---- */

long
poll_epoll(int fd, struct epoll_event *ev, int n, int ms)
{
    int64_t when = ms < 0 ? 0 : until(ms * INT64_C(1000000)), left;
    bool again;
    long r;

    if (likely(!load_rlx(&signalfds)) || getg() == NULL)
        return io_syscall(ms != 0 ? Blocks : 0, SYS_epoll_wait, fd, A(ev), n, ms, 0, 0);
    do {
        const long call[7] = { SYS_epoll_wait, fd, A(ev), n, ms };

        r = signal_showing(ms != 0 ? Blocks : 0, call, &again);
        left = when - nanotime();
        if (ms > 0)
            ms = left > 0 ? (int)((left + 999999) / 1000000) : 0;
    } while (again);
    return r;
}

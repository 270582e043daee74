/* The fd table: what we know of each fd number, in one mapping whose pages come when touched.
 *
 * An fd is classified at its first use (fstat and a few more), or by the call that made it. close and
 * everything that reuses a number end its generation. The program's own O_NONBLOCK belongs to the file
 * description and may be set through another number: each call that may have changed one bumps nonblockgen,
 * and a polldesc whose look-up is older asks the kernel again before anybody parks.
 */
#define _GNU_SOURCE 1
#include "event/event.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { MAXFD = 1 << 20 };

static struct polldesc *table;
static _Atomic uint32_t nonblockgen = 1;

int
pdinit(void)
{
    long p = sys6(SYS_mmap, 0, A(MAXFD * sizeof *table), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p < 0 && p > -4096)
        return (int)p;
    table = (struct polldesc *)p;
    return 0;
}

void
pdreset(void)
{
    if (table != NULL)
        sys3(SYS_munmap, A(table), A(MAXFD * sizeof *table), 0);
    table = NULL;
}

struct polldesc *
pdpeek(int fd)
{
    return fd >= 0 && fd < MAXFD && table != NULL ? &table[fd] : NULL;
}

_Atomic bool socktimeouts;

/* Set before the first thread, or inherited. */
static bool
timed(int fd, int opt)
{
    struct { long sec, usec; } tv = { 0, 0 };
    socklen_t len = sizeof tv;

    return sys6(SYS_getsockopt, fd, SOL_SOCKET, opt, A(&tv), A(&len), 0) == 0 && (tv.sec != 0 || tv.usec != 0);
}

static enum fdclass
socketclass(int fd)
{
    int type = 0, listening = 0, domain = 0;
    socklen_t len = sizeof type;

    sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, A(&type), A(&len), 0);
    sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, A(&listening), A(&len), 0);
    sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, A(&domain), A(&len), 0);
    if (timed(fd, SO_RCVTIMEO) || timed(fd, SO_SNDTIMEO))
        store_rlx(&socktimeouts, true);
    if (type != SOCK_STREAM)
        return listening ? FdListen : FdDgram;
    if (listening)
        return domain == AF_UNIX ? FdListenUnix : FdListenStream;
    return domain == AF_UNIX ? FdUnix : FdStream;
}

_Atomic bool signalfds;

/* Made before the first thread, or inherited: its link in /proc says what it is. */
static bool
issignalfd(int fd)
{
    static const char name[] = "anon_inode:[signalfd]";
    char path[40], is[sizeof name];

    path[format(path, sizeof path - 1, "/proc/self/fd/%d", fd)] = '\0';
    if (sys3(SYS_readlink, A(path), A(is), sizeof is) != sizeof name - 1 || memcmp(is, name, sizeof name - 1) != 0)
        return false;
    store_rlx(&signalfds, true);
    return true;
}

static enum fdclass
classify(int fd)
{
    struct stat st;
    int pgrp;

    if (netpollours(fd))
        return FdOurs;
    if (sys3(SYS_fstat, fd, A(&st), 0) < 0)
        return FdUnknown;
    if (S_ISSOCK(st.st_mode))
        return socketclass(fd);
    if (S_ISFIFO(st.st_mode))
        return FdPipe;
    if (S_ISCHR(st.st_mode))
        return sys3(SYS_ioctl, fd, TIOCGPGRP, A(&pgrp)) == 0 ? FdTty : FdFile;
    if ((st.st_mode & S_IFMT) == 0)
        return issignalfd(fd) ? FdSignal : FdEvent;     /* the latter: eventfd, timerfd, inotify, ... */
    return FdFile;
}

static _Atomic uint64_t plainpipes[16]; /* by fd: made by pipe or pipe2 without O_DIRECT */

void
pdplainpipe(int fd, bool plain)
{
    uint64_t bit = UINT64_C(1) << (fd & 63);

    if (fd < 0 || fd >= 1024)
        return;
    if (plain)
        atomic_fetch_or_explicit(&plainpipes[fd / 64], bit, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&plainpipes[fd / 64], ~bit, memory_order_relaxed);
}

static bool
isplainpipe(int fd)
{
    return fd < 1024 && (load_rlx(&plainpipes[fd / 64]) >> (fd & 63) & 1) != 0;
}

struct polldesc *
pdget(int fd)
{
    struct polldesc *pd = pdpeek(fd);
    enum fdclass class;
    struct g *me;

    if (pd == NULL || load_acq(&pd->class) != FdUnknown)
        return pd;
    class = classify(fd);
    if (class == FdUnknown)
        return NULL;
    me = pin();
    lock(&pd->lock);
    if (load_rlx(&pd->class) == FdUnknown) {
        /* A packet pipe is not empty after a short read: that was one packet. Its reading end does not
         * show what it is, so a pipe that we did not see made is always tried. */
        if (class == FdPipe && !isplainpipe(fd))
            store_rlx(&pd->hup, 1);
        store_rel(&pd->class, class);
    }
    unlock(&pd->lock);
    unpin(me);
    return pd;
}

bool
pdnonblock(int fd, struct polldesc *pd)
{
    uint32_t gen = load_acq(&nonblockgen);

    /* The standard fds are shared with other processes, which may change them at any time. */
    if (unlikely(load_rlx(&pd->nbgen) != gen || fd <= 2)) {
        long fl = sys3(SYS_fcntl, fd, F_GETFL, 0);

        store_rlx(&pd->nonblock, fl >= 0 && (fl & O_NONBLOCK) != 0);
        store_rel(&pd->nbgen, gen);
    }
    return load_rlx(&pd->nonblock);
}

void
nonblockchanged(void)
{
    atomic_fetch_add(&nonblockgen, 1);
}

static void
claimall(struct pdqueue *q, struct glist *list)
{
    while (q->head != NULL) {
        struct pdwait *w = q->head;
        struct g *gp = w->gp;
        bool parked;

        q->head = w->next;
        w->queue = 0;
        if (gclaim(&gp->wake, WakeClose, &parked) && parked)
            glistpush(list, gp);
    }
    q->tail = NULL;
}

static void
forget(struct polldesc *pd)
{
    pd->gen++;
    store_rlx(&pd->registered, 0);
    store_rlx(&pd->hup, 0);
    store_rlx(&pd->nonblock, 0);
    store_rlx(&pd->drained, 0);
    store_rlx(&pd->nbgen, 0);
    store_rel(&pd->class, FdUnknown);
}

void
pdclosing(int fd, struct glist *list)
{
    struct polldesc *pd = pdpeek(fd);
    struct g *me;

    if (pd == NULL || (load_acq(&pd->class) == FdUnknown && !load_rlx(&pd->registered)))
        return;
    me = pin();
    lock(&pd->lock);
    claimall(&pd->rq, list);
    claimall(&pd->wq, list);
    claimall(&pd->pq, list);
    forget(pd);
    unlock(&pd->lock);
    unpin(me);
}

void
pdforget(int fd)
{
    struct polldesc *pd = pdpeek(fd);
    struct g *me;

    if (pd == NULL || load_acq(&pd->class) == FdUnknown)
        return;
    me = pin();
    lock(&pd->lock);
    if (pd->rq.head == NULL && pd->wq.head == NULL && pd->pq.head == NULL)
        forget(pd);
    unlock(&pd->lock);
    unpin(me);
}

/* Whatever we knew of the number is of a description that libc closed without telling us. */
void
pdmade(int fd, enum fdclass class, bool nonblock)
{
    struct polldesc *pd = pdpeek(fd);
    struct g *me;

    if (pd == NULL)
        return;
    me = pin();
    lock(&pd->lock);
    if (load_rlx(&pd->class) != FdUnknown || load_rlx(&pd->registered))
        forget(pd);
    store_rlx(&pd->nonblock, nonblock);
    store_rlx(&pd->nbgen, load_rlx(&nonblockgen));
    store_rel(&pd->class, class);
    unlock(&pd->lock);
    unpin(me);
}

static struct pdqueue *
queueof(struct polldesc *pd, int queue)
{
    return queue == 'r' ? &pd->rq : queue == 'w' ? &pd->wq : &pd->pq;
}

void
pdenqueue(struct polldesc *pd, struct pdwait *w, int queue)
{
    struct pdqueue *q = queueof(pd, queue);

    w->pd = pd;
    w->queue = (uint8_t)queue;
    w->next = NULL;
    w->prev = q->tail;
    if (q->tail != NULL)
        q->tail->next = w;
    else
        q->head = w;
    q->tail = w;
}

void
pddequeue(struct pdwait *w)
{
    struct polldesc *pd = w->pd;
    struct pdqueue *q;

    lock(&pd->lock);
    if (w->queue != 0) {
        q = queueof(pd, w->queue);
        if (w->prev != NULL)
            w->prev->next = w->next;
        else
            q->head = w->next;
        if (w->next != NULL)
            w->next->prev = w->prev;
        else
            q->tail = w->prev;
        w->queue = 0;
    }
    unlock(&pd->lock);
}

/* netpoll: one edge-triggered epoll for all fds that Gs park on.
 *
 * An fd is added once, at its first park, and never changed. An edge increments rseq or wseq of the fd's
 * polldesc and wakes one waiter of that direction (a thread-per-connection server accepts in many threads;
 * waking all would be a stampede) and all that poll() for it. The waiter that was woken passes the
 * readiness on if it leaves some; see wait/iocall.c. An event carries the generation of the fd number,
 * so that one that was in flight when the fd was closed and reused is recognised.
 *
 * Our two fds are moved to high numbers, where a program that counts or closes its own does not meet them.
 */
#include "event/event.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

enum { BATCH = 128 };

static int epfd = -1, breakfd = -1;
static int private[2] = { -1, -1 };     /* their numbers in sysmon's own table; they stay there */
_Atomic int pdhigh;
static _Atomic uint32_t used;
static _Atomic uint32_t breaking;       /* a wake-up is under way */
static struct note fallback;            /* what to sleep on when there is no epoll */

/* A copy of fd at the highest free number below `below` (0: below the limit); -1: none is free. */
static int
copyhigh(int fd, int below)
{
    struct rlimit rl = { 1024, 1024 };

    sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, A(&rl));
    if (rl.rlim_cur > 65536)
        rl.rlim_cur = 65536;
    if (below <= 0 || (rlim_t)below > rl.rlim_cur)
        below = (int)rl.rlim_cur;
    for (int to = below - 1; to > 2; to--) {
        long got;

        if (sys3(SYS_fcntl, to, F_GETFD, 0) != -EBADF)
            continue;
        got = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, to);
        return got < 0 ? -1 : (int)got;
    }
    return -1;
}

static int
movehigh(int fd, int below)
{
    int to = copyhigh(fd, below);

    if (to < 0)
        return fd;
    sys3(SYS_close, fd, 0, 0);
    return to;
}

static void
addbreak(void)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.u64 = UINT64_MAX };  /* level: see netpoll */

    sys4(SYS_epoll_ctl, epfd, EPOLL_CTL_ADD, breakfd, A(&ev));
}

int
netpollinit(void)
{
    long fd = sys3(SYS_epoll_create1, EPOLL_CLOEXEC, 0, 0);

    if (fd < 0)
        return (int)fd;
    epfd = movehigh((int)fd, 0);
    fd = sys3(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK, 0);
    if (fd < 0) {
        sys3(SYS_close, epfd, 0, 0);
        epfd = -1;
        return (int)fd;
    }
    breakfd = movehigh((int)fd, epfd);
    addbreak();
    return 0;
}

bool
netpollours(int fd)
{
    return fd >= 0 && (fd == epfd || fd == breakfd);
}

/* The program is about to put something of its own at this number (dup2): move away, down if need be, since
 * it may own all above. An M that blocks in epoll_wait keeps the description. */
void
netpollmove(int fd, struct glist *list)
{
    int *which = fd == epfd ? &epfd : &breakfd, to = copyhigh(fd, 0);
    uint64_t one = 1;

    if (to < 0)
        to = copyhigh(fd, fd);
    if (to >= 0) {
        *which = to;
        return;
    }
    /* No number is left for us: from now on everything waits in the kernel, as where there never was an
     * epoll. The M in the poller is called back; who is parked finds it out when it tries again. */
    sys3(SYS_write, breakfd, A(&one), 8);
    epfd = breakfd = -1;
    for (int i = 0; i < 65536; i++) {
        struct polldesc *pd = pdpeek(i);

        if (pd == NULL || !load_rlx(&pd->registered))
            continue;
        lock(&pd->lock);
        store_rlx(&pd->registered, 0);
        while (netpollready(&pd->rq, list) || netpollready(&pd->wq, list) || netpollready(&pd->pq, list))
            ;
        unlock(&pd->lock);
    }
}

/* The calling thread (sysmon) gets a table of fds of its own, with ours in it only: what it opens for a
 * moment must not take the number that the program's next open would have got. Before Linux 5.9 it will. */
void
netpollprivate(void)
{
    int lo = epfd < breakfd ? epfd : breakfd, hi = epfd < breakfd ? breakfd : epfd;

    if (sys3(SYS_close_range, 0, lo < 0 ? A(~0u) : lo - 1, CLOSE_RANGE_UNSHARE) < 0 || lo < 0)
        return;
    private[0] = epfd;
    private[1] = breakfd;
    if (hi > lo + 1)
        sys3(SYS_close_range, lo + 1, hi - 1, 0);
    sys3(SYS_close_range, hi + 1, A(~0u), 0);
}

bool
netpollused(void)
{
    return load_rlx(&used) != 0;
}

bool
netpollopen(int fd, struct polldesc *pd)
{
    struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET,
                              .data.u64 = (uint64_t)pd->gen << 32 | (uint32_t)fd };
    long r;

    if (load_rlx(&pd->registered))
        return true;
    if (epfd < 0)
        return false;
    r = sys4(SYS_epoll_ctl, epfd, EPOLL_CTL_ADD, fd, A(&ev));
    if (r == -EEXIST)           /* the number was reused behind our back for the same description */
        r = sys4(SYS_epoll_ctl, epfd, EPOLL_CTL_MOD, fd, A(&ev));
    if (r < 0)
        return false;
    store_rlx(&pd->registered, 1);
    for (int high = load_rlx(&pdhigh); high < fd && !atomic_compare_exchange_weak(&pdhigh, &high, fd);)
        ;
    if (load_rlx(&used) == 0)
        store_rlx(&used, 1);
    return true;
}

bool
netpollready(struct pdqueue *q, struct glist *list)
{
    struct pdwait *w;

    while ((w = q->head) != NULL) {
        struct g *gp = w->gp;
        bool parked;

        q->head = w->next;
        if (q->head != NULL)
            q->head->prev = NULL;
        else
            q->tail = NULL;
        w->queue = 0;
        if (!gclaim(&gp->wake, WakeUnpark, &parked))
            continue;           /* it is leaving for another reason */
        if (parked)
            glistpush(list, gp);
        return true;
    }
    return false;
}

static void
wakepolls(struct polldesc *pd, uint8_t mode, struct glist *list)
{
    struct pdwait *w, *next;

    for (w = pd->pq.head; w != NULL; w = next) {
        struct pdqueue one = { w, w };

        next = w->next;
        if ((w->mode & mode) == 0)
            continue;
        if (w->prev != NULL)
            w->prev->next = next;
        else
            pd->pq.head = next;
        if (next != NULL)
            next->prev = w->prev;
        else
            pd->pq.tail = w->prev;
        w->next = w->prev = NULL;
        netpollready(&one, list);
    }
}

void
netpollevent(int fd, uint32_t gen, uint32_t e, struct glist *list)
{
    struct polldesc *pd = pdpeek(fd);
    uint8_t mode = 0;

    if (pd == NULL)
        return;
    if (e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        mode |= PdRead;
    if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        mode |= PdWrite;
    if (e & EPOLLPRI)
        mode |= PdPri | PdRead;
    if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        mode |= PdHup;
    lock(&pd->lock);
    if (pd->gen == gen) {
        if (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI))
            store_rlx(&pd->hup, 1);
        if (mode & PdRead) {
            store_rel(&pd->rseq, load_rlx(&pd->rseq) + 1);
            netpollready(&pd->rq, list);
        }
        if (mode & PdWrite) {
            store_rel(&pd->wseq, load_rlx(&pd->wseq) + 1);
            netpollready(&pd->wq, list);
        }
        wakepolls(pd, mode, list);
    }
    unlock(&pd->lock);
}

/* epoll_pwait2 takes nanoseconds; before Linux 5.11 there are milliseconds, rounded up. */
static long
epollwait(int ep, struct epoll_event *evs, int64_t delay)
{
    static bool nowait2;
    struct timespec ts = { delay / 1000000000, delay % 1000000000 };
    long n;

    if (delay == 0) {
        n = sys6(SYS_epoll_wait, ep, A(evs), BATCH, 0, 0, 0);
        return n != -EBADF ? n : sys6(SYS_epoll_wait, private[0], A(evs), BATCH, 0, 0, 0);
    }
    if (!nowait2) {
        n = sys6(SYS_epoll_pwait2, ep, A(evs), BATCH, delay < 0 ? 0 : A(&ts), 0, 8);
        if (n != -ENOSYS && n != -EPERM)
            return n;
        nowait2 = true;
    }
    delay = delay < 0 ? -1 : (delay + 999999) / 1000000;
    return sys6(SYS_epoll_wait, ep, A(evs), BATCH, delay > 1 << 30 ? 1 << 30 : delay, 0, 0);
}

/* Events of one call. A break that is left for others stays readable; *left tells of it. */
static bool
pollwith(int ep, int brk, int64_t delay, struct glist *list, const _Atomic int64_t *blocked, bool *left)
{
    struct epoll_event evs[BATCH];
    long n = epollwait(ep, evs, delay);

    for (long i = 0; i < n; i++) {
        if (evs[i].data.u64 == UINT64_MAX) {
            uint64_t count;

            if (delay == 0)
                continue;       /* meant for the one that blocks: see netpollbreak */
            if (blocked != NULL && load_acq(blocked) == 0) {
                *left = true;
                continue;
            }
            sys3(SYS_read, brk, A(&count), 8);
            store_rel(&breaking, 0);
        } else {
            netpollevent((int)(uint32_t)evs[i].data.u64, (uint32_t)(evs[i].data.u64 >> 32), evs[i].events, list);
        }
    }
    return n == BATCH;
}

bool
netpoll(int64_t delay, struct glist *list)
{
    if (epfd >= 0)
        return pollwith(epfd, breakfd, delay, list, NULL, NULL);
    if (delay > 0)
        notetsleep(&fallback, delay);
    else if (delay < 0)
        notesleep(&fallback);
    if (delay != 0)
        noteclear(&fallback);
    return false;
}

/* By the numbers that our fds have in sysmon's own table. The kernel wakes who came last, which is sysmon more often than not: were
 * it to take the break, it would have to break again for the other, and would get that one too. */
bool
netpollwatch(int64_t delay, const _Atomic int64_t *blocked, struct glist *list)
{
    bool left = false;

    if (private[0] >= 0)
        pollwith(private[0], private[1], delay, list, blocked, &left);
    else if (epfd >= 0)
        pollwith(epfd, breakfd, delay, list, blocked, &left);
    else
        sys_sleep(delay);
    return left;
}

/* Wakes the M that blocks in netpoll. */
void
netpollbreak(void)
{
    uint32_t none = 0;
    uint64_t one = 1;

    if (epfd < 0) {
        notewakeup(&fallback);
        return;
    }
    if (atomic_compare_exchange_strong(&breaking, &none, 1) && sys3(SYS_write, breakfd, A(&one), 8) == -EBADF)
        sys3(SYS_write, private[1], A(&one), 8);
}

void
netpollreset(void)
{
    if (epfd >= 0)
        sys3(SYS_close, epfd, 0, 0);
    if (breakfd >= 0)
        sys3(SYS_close, breakfd, 0, 0);
    epfd = breakfd = private[0] = private[1] = -1;
    sweepreset();
    store_rlx(&timerwatch, 0);
    store_rlx(&used, 0);
    store_rlx(&breaking, 0);
    noteclear(&fallback);
}

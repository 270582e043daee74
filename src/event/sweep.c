/* The net under the edges: what is parked although its fd is ready.
 *
 * An edge can only be lost if somebody goes behind our back: system calls in assembly that change or replace an fd. Such a G
 * would wait for ever. So once a second, while the process is not idle, and a few times after it has become so, an M looks at all
 * fds that somebody waits for. Ready is not lost yet: the event may be on its way, the G that it woke may not have run.
 * What is still ready after another second, without an event in between, is lost, and is counted (`rescued`). Where more is
 * to be done than can be, both may take longer than a second: the M that looks takes all events first, and puts the
 * look off until who was ready at the last one has had its turn (sched/findrunnable.c).
 */
#include "event/event.h"
#include <poll.h>

enum { BATCH = 128, MAXSUSPECTS = 256 };

struct suspect {
    int fd;
    uint32_t gen, rseq, wseq;
    short events;
};

static struct suspect suspects[MAXSUSPECTS];    /* by whoever has `sweeping` */
static int nsuspects;
static _Atomic bool sweeping;

/* What is waited for at pd, 0: nothing; and its state. */
static bool
waitedfor(int fd, struct polldesc *pd, struct suspect *s)
{
    *s = (struct suspect){ .fd = fd };
    lock(&pd->lock);
    if (load_rlx(&pd->registered)) {
        if (pd->rq.head != NULL)
            s->events |= POLLIN | POLLRDHUP;
        if (pd->wq.head != NULL)
            s->events |= POLLOUT;
        for (struct pdwait *w = pd->pq.head; w != NULL; w = w->next) {
            s->events |= (w->mode & PdRead) ? POLLIN : 0;
            s->events |= (w->mode & PdWrite) ? POLLOUT : 0;
            s->events |= (w->mode & PdPri) ? POLLPRI : 0;
            s->events |= (w->mode & PdHup) ? POLLHUP : 0;
        }
    }
    s->gen = pd->gen;
    s->rseq = load_rlx(&pd->rseq);
    s->wseq = load_rlx(&pd->wseq);
    unlock(&pd->lock);
    return s->events != 0;
}

/* Of n fds those that are ready: moved to the front, with what they are ready for. */
static int
areready(struct suspect *s, int n)
{
    struct pollfd fds[BATCH];
    int ready = 0;

    for (int i = 0; i < n; i++)
        fds[i] = (struct pollfd){ s[i].fd, s[i].events, 0 };
    if (n == 0 || sys3(SYS_poll, A(fds), n, 0) <= 0)
        return 0;
    for (int i = 0; i < n; i++)
        if ((fds[i].revents & ~POLLNVAL) != 0) {
            s[ready] = s[i];
            s[ready++].events = fds[i].revents;
        }
    return ready;
}

static void
rescue(struct glist *list)
{
    struct suspect now[BATCH];
    int n = 0;

    for (int i = 0; i < nsuspects; i++) {
        struct suspect *s = &suspects[i];

        if (waitedfor(s->fd, pdpeek(s->fd), &now[n]) && (s->events & (now[n].events | POLLERR | POLLHUP)) != 0 && now[n].gen == s->gen &&
            now[n].rseq == s->rseq && now[n].wseq == s->wseq)
            n++;
        if (n == BATCH || i == nsuspects - 1) {
            n = areready(now, n);
            while (n > 0) {
                n--;
                netpollevent(now[n].fd, now[n].gen, (uint32_t)now[n].events, list);
            }
        }
    }
    nsuspects = 0;
}

static void
suspect(struct suspect *s, int n)
{
    n = areready(s, n);
    for (int i = 0; i < n && nsuspects < MAXSUSPECTS; i++)
        suspects[nsuspects++] = s[i];
}

/* An M with a P: claims whoever was forgotten. */
void
netpollsweep(struct glist *list)
{
    struct suspect batch[BATCH];
    int n = 0, high = load_rlx(&pdhigh);

    if (atomic_exchange(&sweeping, true))
        return;
    rescue(list);
    for (int fd = 0; fd <= high; fd++) {
        struct polldesc *pd = pdpeek(fd);

        if (pd->rq.head == NULL && pd->wq.head == NULL && pd->pq.head == NULL)
            continue;           /* a look without the lock: the next round will see it */
        if (waitedfor(fd, pd, &batch[n]) && ++n == BATCH) {
            suspect(batch, n);
            n = 0;
        }
    }
    suspect(batch, n);
    atomic_store(&sweeping, false);
}

void
sweepreset(void)
{
    nsuspects = 0;
    store_rlx(&sweeping, false);
    store_rlx(&pdhigh, 0);
}

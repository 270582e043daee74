/* The fd table: classes, generations, queues of waiters. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

static struct g gs[8];
static struct pdwait w[8];

static void
setup(void)
{
    cr_assert_eq(pdinit(), 0);
    for (int i = 0; i < 8; i++) {
        store_rlx(&gs[i].wake, WakeParked);
        w[i].gp = &gs[i];
    }
}

TestSuite(polldesc, .init = setup, .fini = pdreset, .timeout = 20);

static enum fdclass
classof(int fd)
{
    struct polldesc *pd = pdget(fd);

    return pd != NULL ? load_rlx(&pd->class) : FdUnknown;
}

Test(polldesc, classes)
{
    int p[2], u[2], tcp = socket(AF_INET, SOCK_STREAM, 0), listening = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, u), 0);
    cr_assert_eq(listen(listening, 1), 0);
    cr_expect_eq(classof(p[0]), FdPipe);
    cr_expect_eq(classof(p[1]), FdPipe);
    cr_expect_eq(classof(u[0]), FdUnix);
    cr_expect_eq(classof(tcp), FdStream);
    cr_expect_eq(classof(listening), FdListenStream);
    cr_expect_eq(classof(socket(AF_INET, SOCK_DGRAM, 0)), FdDgram);
    cr_expect_eq(classof(socket(AF_UNIX, SOCK_DGRAM, 0)), FdDgram);
    cr_expect_eq(classof(socket(AF_UNIX, SOCK_SEQPACKET, 0)), FdDgram);
    cr_expect_eq(classof(eventfd(0, 0)), FdEvent);
    cr_expect_eq(classof(timerfd_create(CLOCK_MONOTONIC, 0)), FdEvent);
    cr_expect_eq(classof(open("/dev/null", O_RDWR)), FdFile);
    cr_expect_eq(classof(open("/proc/self/exe", O_RDONLY)), FdFile);
    cr_expect_eq(classof(open("/", O_RDONLY)), FdFile);
}

Test(polldesc, range)
{
    int p[2];

    cr_expect_null(pdget(-1));
    cr_expect_null(pdpeek(-1));
    cr_expect_null(pdget(1 << 20));
    cr_expect_null(pdpeek(1 << 20));
    cr_expect_not_null(pdpeek((1 << 20) - 1));
    cr_expect_null(pdget((1 << 20) - 1), "not open");
    cr_assert_eq(pipe(p), 0);
    close(p[0]);
    cr_expect_null(pdget(p[0]));
    pdreset();
    cr_expect_null(pdpeek(3));
    cr_assert_eq(pdinit(), 0);
}

Test(polldesc, generations)
{
    struct glist list = { 0 };
    struct polldesc *pd;
    uint32_t gen;
    int p[2];

    cr_assert_eq(pipe(p), 0);
    pd = pdget(p[0]);
    gen = pd->gen;
    store_rlx(&pd->registered, 1);
    store_rlx(&pd->hup, 1);
    store_rlx(&pd->drained, 1);
    pdclosing(p[0], &list);
    cr_expect_eq(pd->gen, gen + 1);
    cr_expect_eq(load_rlx(&pd->class), FdUnknown);
    cr_expect_eq(load_rlx(&pd->registered), 0);
    cr_expect_eq(load_rlx(&pd->hup), 0);
    cr_expect_eq(load_rlx(&pd->drained), 0);
    pdclosing(p[0], &list);
    cr_expect_eq(pd->gen, gen + 1, "nothing was known of it");
    pdmade(p[0], FdEvent, true);
    cr_expect_eq(pd->gen, gen + 1);
    cr_expect_eq(classof(p[0]), FdEvent, "as we were told");
    cr_expect(pdnonblock(p[0], pd));
    pdmade(p[0], FdPipe, false);
    cr_expect_eq(pd->gen, gen + 2, "made again: it was closed behind our back");
    cr_expect(!pdnonblock(p[0], pd));
    pdforget(p[0]);
    cr_expect_eq(pd->gen, gen + 3);
    cr_expect_eq(list.n, 0);
}

Test(polldesc, nonblock)
{
    struct polldesc *pd;
    int p[2];

    cr_assert_eq(pipe(p), 0);
    pd = pdget(p[0]);
    cr_expect(!pdnonblock(p[0], pd));
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    cr_expect(!pdnonblock(p[0], pd), "nobody said that it changed");
    nonblockchanged();
    cr_expect(pdnonblock(p[0], pd));
    cr_expect(!pdnonblock(p[1], pdget(p[1])), "the other end is another description");
}

static struct polldesc *
queued(int fd)
{
    struct polldesc *pd = pdpeek(fd);

    pdmade(fd, FdPipe, false);
    lock(&pd->lock);
    for (int i = 0; i < 6; i++)
        pdenqueue(pd, &w[i], "rwprrr"[i]);
    unlock(&pd->lock);
    return pd;
}

Test(polldesc, closing_claims_all)
{
    struct glist list = { 0 };
    struct polldesc *pd = queued(100);

    store_rlx(&gs[3].wake, WakeArmed);          /* will notice by itself */
    store_rlx(&gs[4].wake, WakeTimeout);        /* leaves already */
    pdclosing(100, &list);
    cr_expect_eq(list.n, 4);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(load_rlx(&gs[i].wake), i == 4 ? WakeTimeout : WakeClose);
        cr_expect_eq(w[i].queue, 0);
        pddequeue(&w[i]);       /* as each does when it comes back */
    }
    cr_expect_null(pd->rq.head);
    cr_expect_null(pd->rq.tail);
    cr_expect_null(pd->wq.head);
    cr_expect_null(pd->pq.head);
}

Test(polldesc, dequeue)
{
    struct glist list = { 0 };
    struct polldesc *pd = queued(100);

    pddequeue(&w[3]);           /* the middle, the end, the beginning */
    cr_expect_eq(w[0].next, &w[4]);
    cr_expect_eq(w[4].prev, &w[0]);
    pddequeue(&w[5]);
    cr_expect_eq(pd->rq.tail, &w[4]);
    cr_expect_null(w[4].next);
    pddequeue(&w[0]);
    cr_expect_eq(pd->rq.head, &w[4]);
    cr_expect_null(w[4].prev);
    pddequeue(&w[0]);           /* twice: nothing */
    pddequeue(&w[4]);
    cr_expect_null(pd->rq.head);
    cr_expect_null(pd->rq.tail);
    pdclosing(100, &list);
    cr_expect_eq(list.n, 2, "one writer and one in poll");
}

Test(polldesc, forget_spares_waiters)
{
    struct polldesc *pd = queued(100);
    uint32_t gen = pd->gen;

    pdforget(100);
    cr_expect_eq(pd->gen, gen);
    cr_expect_eq(load_rlx(&pd->class), FdPipe);
}

Test(polldesc, ready_wakes_one)
{
    struct glist list = { 0 };
    struct polldesc *pd = queued(100);

    store_rlx(&gs[0].wake, WakeTimeout);
    lock(&pd->lock);
    cr_expect(netpollready(&pd->rq, &list));
    cr_expect_eq(list.head, &gs[3], "the first leaves for another reason: the next");
    cr_expect_eq(list.n, 1);
    cr_expect_eq(load_rlx(&gs[3].wake), WakeUnpark);
    cr_expect_eq(pd->rq.head, &w[4]);
    cr_expect_null(w[4].prev);
    store_rlx(&gs[4].wake, WakeArmed);
    cr_expect(netpollready(&pd->rq, &list));
    cr_expect_eq(list.n, 1, "not parked yet: it goes on by itself");
    cr_expect(netpollready(&pd->rq, &list));
    cr_expect(!netpollready(&pd->rq, &list), "nobody left");
    cr_expect_null(pd->rq.tail);
    unlock(&pd->lock);
}

/* The real thing: an edge wakes one reader, and those in poll(). */
Test(polldesc, epoll_edge)
{
    struct glist list = { 0 };
    struct polldesc *pd;
    uint32_t seq;
    int p[2];

    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(netpollinit(), 0);
    cr_expect(!netpollused());
    pd = pdget(p[0]);
    lock(&pd->lock);
    cr_expect(netpollopen(p[0], pd));
    pdenqueue(pd, &w[0], 'r');
    pdenqueue(pd, &w[1], 'r');
    w[2].mode = PdRead;
    pdenqueue(pd, &w[2], 'p');
    w[3].mode = PdWrite;
    pdenqueue(pd, &w[3], 'p');
    unlock(&pd->lock);
    cr_expect(netpollused());
    seq = load_rlx(&pd->rseq);
    netpoll(0, &list);
    cr_expect_eq(list.n, 0);
    cr_assert_eq(write(p[1], "x", 1), 1);
    netpoll(1000 * (int64_t)MS, &list);
    cr_expect_eq(load_rlx(&pd->rseq), seq + 1);
    cr_expect_eq(list.n, 2);
    cr_expect_eq(load_rlx(&gs[0].wake), WakeUnpark);
    cr_expect_eq(load_rlx(&gs[1].wake), WakeParked);
    cr_expect_eq(load_rlx(&gs[2].wake), WakeUnpark);
    cr_expect_eq(load_rlx(&gs[3].wake), WakeParked);
    netpoll(0, &list);
    cr_expect_eq(list.n, 2, "an edge, not a level");
    /* a stale event of an old generation */
    cr_assert_eq(write(p[1], "x", 1), 1);
    pd->gen++;
    netpoll(0, &list);
    cr_expect_eq(list.n, 2);
    netpollreset();
}

Test(polldesc, regular_files_are_not_pollable)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    struct polldesc *pd = pdget(fd);

    cr_assert_eq(netpollinit(), 0);
    lock(&pd->lock);
    cr_expect(!netpollopen(fd, pd));
    unlock(&pd->lock);
    netpollreset();
}

static void *
breaker(void *unused)
{
    usleep(10000);
    netpollbreak();
    netpollbreak();
    return unused;
}

Test(polldesc, netpollbreak)
{
    struct glist list = { 0 };
    pthread_t th;
    int64_t start = nanotime();

    cr_assert_eq(netpollinit(), 0);
    th = spawn(breaker, NULL);
    netpoll(-1, &list);
    reap(th);
    netpoll(20 * MS, &list);
    cr_expect_lt(nanotime() - start, 5000 * (int64_t)MS);
    start = nanotime();
    netpoll(10 * MS, &list);
    cr_expect_geq(nanotime() - start, 10 * MS, "nothing is left of it");
    cr_expect_eq(list.n, 0);
}

/* sysmon: the kernel thread without a P that sees to it that nothing stays stuck.
 *
 * It takes the P from an M that is in a system call and gives it to another (retake). It does so also when no
 * wrapper announced the call (fgets on a pipe, getaddrinfo, a contended lock inside libc, a page
 * fault): a P whose slice has not changed while others wait, and whose M is asleep in the kernel.
 * That M may wake at any moment and go on to use its P, so the taking is a handshake, Dekker's with the
 * expensive half on our side: we set m->lostp and then run membarrier; the M counts its G's locks up and
 * then reads m->lostp. Either it sees that we ask, and waits for our decision, or we see locks > 0, and
 * withdraw. An M whose P was taken notices on its next way into the runtime (acquirem).
 *
 * It also ends time slices of 10 ms (pp->preempt, honoured at the next way through the runtime), polls
 * the network when nobody has for 10 ms, starts an M for timers that are due and for work that waits
 * beside an idle P, and sees to it that what is idle is given back (scavenge.c) and lost edges are found (event/sweep.c).
 * It sleeps 20 us between rounds, up to 10 ms when there is nothing to do. When every P is idle it wakes a few times
 * more for the last two, and then sleeps until it is woken.
 */
#include "sched/sched.h"
#include <fcntl.h>
#include <linux/membarrier.h>

enum { MS = 1000000, SLICE = 10 * MS, POLLAGE = 10 * MS };

int64_t preemptevery;                 /* GODEBUG=preempt, in ns: a G is preempted after that, whether others wait or not; 0: off */

bool havemembarrier;            /* registered by boot, before there are threads: later it takes 10 ms */
int64_t tracens;                /* GODEBUG=schedtrace, in ns; 0: off */
bool tracedetail;
_Atomic int sysmontid;
bool (*whenidle)(void);         /* every P has been idle for a while; may sleep. True: ask again in a while */

static bool
membarrier(int cmd)
{
    return sys3(SYS_membarrier, cmd, 0, 0) == 0;
}

/* Is the thread asleep in the kernel? State letter of /proc/self/task/TID/stat, behind the last ')'. */
static bool
asleep(int tid)
{
    char path[48], buf[256];
    long fd, n;

    path[format(path, sizeof path - 1, "/proc/self/task/%d/stat", tid)] = '\0';
    fd = sys4(SYS_openat, AT_FDCWD, A(path), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    n = sys3(SYS_read, fd, A(buf), sizeof buf);
    sys3(SYS_close, fd, 0, 0);
    for (long i = n - 3; i > 0; i--)
        if (buf[i] == ')')
            return buf[i + 2] == 'S' || buf[i + 2] == 'D';
    return false;
}

static bool
workwaits(struct p *pp, int64_t now)
{
    int64_t when = load_acq(&pp->timers.when0);

    return !runqempty(pp) || load_acq(&sched.runqsize) > 0 || (when != 0 && when <= now);
}

static bool
inruntime(struct m *mp)
{
    struct g *gp = *(struct g *volatile *)&mp->curg;

    return gp == NULL || *(volatile int *)&gp->locks > 0 || *(volatile bool *)&gp->insys;
}

/* pp's M sleeps in a call that nobody announced: take the P. See the head of the file. */
static bool
takeunannounced(struct p *pp)
{
    struct m *mp = *(struct m *volatile *)&pp->m;

    if (!havemembarrier || mp == NULL || load_acq(&pp->status) != Prunning || inruntime(mp) ||
        !asleep(load_rlx(&mp->tid)))
        return false;
    store_rel(&mp->lostp, LostAsked);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (inruntime(mp) || load_acq(&pp->status) != Prunning || *(struct m *volatile *)&pp->m != mp ||
        *(struct p *volatile *)&mp->p != pp) {
        store_rel(&mp->lostp, LostNo);
        return false;
    }
    pp->m = NULL;
    sched.count.unannounced++;
    store_rel(&mp->lostp, LostTaken);
    handoffp(pp);
    return true;
}

/* Signals that signal_deliver left for later, and a G that does not come by. */
static void
pokeleft(struct p *pp)
{
    struct m *mp = *(struct m *volatile *)&pp->m;
    struct g *gp = mp != NULL ? *(struct g *volatile *)&mp->curg : NULL;

    uint64_t blocked;

    if (gp == NULL || likely(load_rlx(&gp->sigpend) == 0))
        return;
    blocked = *(volatile uint64_t *)&gp->sigmask | (uint64_t)*(volatile bool *)&gp->urgblocked << (SIGURG - 1);
    if (load_rlx(&gp->sigpend) & ~blocked)
        pokem(mp);
}

/* One P; true if something was done. */
static bool resists;            /* a G whose slice is over still ran in the last round */

static bool
retakeone(struct p *pp, int64_t now)
{
    uint32_t status = load_acq(&pp->status), t;

    if (status == Prunning) {
        t = load_rlx(&pp->schedtick);
        if (pp->sysmontick.schedtick != t) {
            pp->sysmontick.schedtick = t;
            pp->sysmontick.schedwhen = pp->sysmontick.looked = now;
            return false;
        }
        if (unlikely(preemptevery != 0) && now - pp->sysmontick.schedwhen >= preemptevery)
            preemptone(pp);
        pokeleft(pp);
        if (!workwaits(pp, now))
            return false;
        /* The look costs 10 us: at twice the age of the slice each time; and before each signal, which must
         * not go to an M that sleeps in the kernel. */
        if (now - pp->sysmontick.schedwhen >= SLICE ||
            now - pp->sysmontick.looked > pp->sysmontick.looked - pp->sysmontick.schedwhen) {
            pp->sysmontick.looked = now;
            if (takeunannounced(pp))
                return true;
        }
        if (now - pp->sysmontick.schedwhen >= SLICE) {
            preemptone(pp);
            resists = true;     /* until it has worked: it may be in libc at the moment, again and again */
        }
        return load_acq(&pp->status) != Prunning;
    }
    if (status == Psyscall) {
        t = load_rlx(&pp->syscalltick);
        if (pp->sysmontick.syscalltick != t) {
            pp->sysmontick.syscalltick = t;
            pp->sysmontick.syscallwhen = now;
            return false;
        }
        if (!workwaits(pp, now) &&
            load_rlx(&sched.nmspinning) + load_rlx(&sched.npidle) > 0 && pp->sysmontick.syscallwhen + SLICE > now)
            return false;
        if (atomic_compare_exchange_strong(&pp->status, &status, Pidle)) {
            atomic_fetch_add_explicit(&pp->syscalltick, 1, memory_order_relaxed);
            pp->m = NULL;
            sched.count.handoffs++;
            handoffp(pp);
            return true;
        }
    }
    return false;
}

static void
pollnet(int64_t now)
{
    int64_t last = load_acq(&sched.lastpoll);
    struct glist list = { 0 };

    if (!netpollused() || last == 0 || last + POLLAGE > now ||
        !atomic_compare_exchange_strong(&sched.lastpoll, &last, now))
        return;
    netpoll(0, &list);
    sched.count.pollwakes += (uint64_t)list.n;
    injectglist(&list);
}

/* What waits beside an idle P gets an M: a wrong guess of g->quick, a timer set by a G that computes
 * on, an M that could not be started. */
static bool
helpidle(int64_t now)
{
    int64_t when;
    bool work;

    if (load_acq(&sched.npidle) == 0 || load_acq(&sched.nmspinning) != 0)
        return false;
    work = load_acq(&sched.runqsize) > 0;
    for (int i = 0; i < gomaxprocs && !work; i++) {
        struct p *pp = &allp[i];
        uint32_t tick = *(volatile uint32_t *)&pp->tick;

        work = load_acq(&pp->runqtail) != load_acq(&pp->runqhead) ||
               (load_acq(&pp->runnext) != NULL && pp->sysmontick.tick == tick);
        pp->sysmontick.tick = tick;
    }
    when = timersnext(gomaxprocs, allp);
    if (!work && (when == 0 || when > now))
        return false;
    wakep();
    return true;
}

void
sysmonwake(void)
{
    store_rlx(&sched.sysmonwait, 0);
    store_rlx(&sched.now, nanotime());  /* it has stood still */
    notewakeup(&sched.sysmonnote);
}

enum { SWEEPAGE = 1000 * MS, IDLESWEEPS = 3 };

static int idlesweeps;          /* since a G ran last */

static void
sweeplook(int64_t now)
{
    static int64_t last;
    static uint32_t ran;
    uint32_t sum = 0;

    if (now - last < SWEEPAGE || !netpollused())
        return;
    last = now;
    for (int i = 0; i < gomaxprocs; i++)
        sum += load_rlx(&allp[i].schedtick);
    idlesweeps = sum == ran ? idlesweeps + 1 : 0;
    ran = sum;
    if (idlesweeps > IDLESWEEPS)
        return;
    store_rlx(&sched.sweepdue, true);
    if (load_rlx(&sched.npidle) == gomaxprocs)
        netpollbreak();         /* the M in the poller takes a P and sees it */
}

/* Every P is idle: sleep until one is taken, or something is to be given back. */
static bool
deepsleep(void)
{
    int64_t in;

    lock(&sched.lock);
    if (load_rlx(&sched.npidle) != gomaxprocs || tracens != 0 || load_rlx(&maskstale)) {
        unlock(&sched.lock);
        return false;
    }
    noteclear(&sched.sysmonnote);
    store_rlx(&sched.sysmonwait, 1);
    in = scavengein();
    if (netpollused() && idlesweeps <= IDLESWEEPS && (in == 0 || in > SWEEPAGE))
        in = SWEEPAGE;
    unlock(&sched.lock);
    if (in == 0) {
        notesleep(&sched.sysmonnote);
    } else if (!notetsleep(&sched.sysmonnote, in)) {
        lock(&sched.lock);
        store_rlx(&sched.sysmonwait, 0);
        unlock(&sched.lock);
    }
    return true;
}

void *
sysmon(void *unused)
{
    int64_t delay = 20000, lasttrace = nanotime();
    int quiet = 0, asleepfor = 0;

    rsequnregister();
    store_rlx(&sysmontid, (int)sys3(SYS_gettid, 0, 0, 0));
    if (tracens == 0)           /* which is written by us, to the process's stderr */
        netpollprivate();
    for (;;) {
        int64_t now;
        bool did = false;

        if (quiet == 0)
            delay = 20000;
        else if (quiet > 50)
            delay *= 2;
        if (delay > SLICE)
            delay = SLICE;
        if (unlikely(preemptevery != 0) && delay > preemptevery)
            delay = preemptevery;
        if (load_rlx(&hogs))
            hogsleep(resists && delay > 100000 ? 100000 : delay);
        else
            sys_sleep(resists && delay > 100000 ? 100000 : delay);
        resists = false;
        asleepfor = load_rlx(&sched.npidle) == gomaxprocs ? asleepfor + 1 : 0;
        if (asleepfor == 51 && unlikely(whenidle != NULL) && whenidle())
            asleepfor = 1;
        if (asleepfor > 50 && deepsleep())
            quiet = asleepfor = 0;
        now = nanotime();
        store_rlx(&sched.now, now);
        pollnet(now);
        hoglook(now);
        cpusample(now);
        maskrelax(now);
        for (int i = 0; i < gomaxprocs; i++)
            did |= retakeone(&allp[i], now);
        did |= helpidle(now);
        scavenge(now);
        sweeplook(now);
        quiet = did ? 0 : quiet + 1;
        if (tracens != 0 && now - lasttrace >= tracens) {
            lasttrace = now;
            schedtrace(tracedetail);
        }
    }
    return unused;
}

/* The signals of the storm: the handlers, the threads that wait for signals, and those that send them. */
#include "storm.h"

/* ---- real-time signals ---- */

static void
received(enum rt k, const siginfo_t *info)
{
    uint64_t v = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

    if (info->si_signo != SIG(k) || info->si_code != SI_QUEUE || v >> 48 != MAGIC)
        fail("signal %d: code %d, value %llx", info->si_signo, info->si_code, (unsigned long long)v);
    if (info->si_pid != storm->child && info->si_pid != storm->parent)
        fail("signal %d: from process %d", info->si_signo, info->si_pid);
    atomic_fetch_add(&storm->gotsum[k], v);
    atomic_fetch_add(&storm->got[k], 1);
}

/* Sent to this thread: nothing was lost before it, nothing is late. */
static void
inorder(const siginfo_t *info, const char *where)
{
    uint64_t v = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
    unsigned sender = v >> 32 & 0xffff;

    if (self == NULL || sender >= MAXSENDERS)
        fail("%s: value %llx has no sender", where, (unsigned long long)v);
    if ((uint32_t)v <= self->last[sender])
        fail("%s: number %u of sender %u after %u", where, (uint32_t)v, sender, self->last[sender]);
    self->last[sender] = (uint32_t)v;
    atomic_fetch_add(&self->got, 1);
}

bool
queuesignal(enum rt k, struct slot *to, uint32_t sender, uint32_t seq)
{
    uint64_t n = (uint64_t)MAGIC << 48 | (uint64_t)sender << 32 | seq;
    union sigval v = { .sival_ptr = (void *)(uintptr_t)n };
    int e;

    if (to != NULL)
        e = pthread_sigqueue(to->thread, SIG(k), v);
    else
        e = sigqueue(storm->parent, SIG(k), v) == 0 ? 0 : errno;
    if (e == EAGAIN) {
        atomic_fetch_add(&storm->full, 1);
        return false;
    }
    must(e, "sigqueue");
    atomic_fetch_add(&storm->sentsum[k], n);
    atomic_fetch_add(&storm->sent[k], 1);
    if (to != NULL && (k == RtHandler || k == RtWait))
        atomic_fetch_add(&to->sent, 1);
    return true;
}

/* ---- handlers ---- */

static bool
restarts(int sig)
{
    return sig == SIGUSR1 || sig == SIG(RtHandler) || sig == SIG(RtWrite);
}

static bool
onstack(int sig)
{
    return sig == SIGUSR2 || sig == SIG(RtProcess);
}

static void
onsignal(int sig, siginfo_t *info, void *uc)
{
    int saved = errno;
    struct slot *s = self;

    (void)uc;
    if (restarts(sig))
        restarted++;
    else
        interrupted++;
    if (closed & sigbit(sig))
        fail("handler of %d: it is blocked", sig);
    if (onstack(sig) && s != NULL && s->alt != NULL && (uintptr_t)&saved - (uintptr_t)s->alt >= ALTSIZE)
        fail("handler of %d: not on the alternate stack", sig);
    if (sig == SIGUSR1) {
        atomic_fetch_add(&storm->usr1, 1);
    } else if (sig == SIGUSR2) {
        atomic_fetch_add(&storm->usr2, 1);
    } else if (sig == SIGHUP) {
        atomic_fetch_add(&storm->huphandled, 1);
    } else {
        received((enum rt)(sig - SIGRTMIN), info);
        if (sig == SIG(RtHandler))
            inorder(info, "handler");
        else if (sig == SIG(RtWrite) && write(writepipe[1], &info->si_value, sizeof info->si_value) != sizeof info->si_value)
            fail("write in a handler: %s", strerror(errno));
        else if (sig == SIG(RtPost))
            must(sem_post(&posted), "sem_post in a handler");
    }
    errno = saved;
}

void
install(int sig)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = onsignal;
    sa.sa_flags = SA_SIGINFO | (restarts(sig) ? SA_RESTART : 0) | (onstack(sig) ? SA_ONSTACK : 0);
    if (onstack(sig) || sig == SIG(RtWrite))
        sigfillset(&sa.sa_mask);
    must(sigaction(sig, &sa, NULL), "sigaction");
}

/* ---- the threads that are about signals ---- */

void
checkcounts(struct slot *s)
{
    if (s->sent != s->got)
        fail("%lu signals were sent to it, %lu arrived", s->sent, s->got);
}

/* Waits for what is sent to it (RtWait), or to the process (RtShared). */
static void
waiter(struct slot *s, enum rt k)
{
    sigset_t set;
    siginfo_t info;

    sigemptyset(&set);
    sigaddset(&set, SIG(k));
    while (!phaseis(Stopping)) {
        struct timespec ts = { 0, (long)rnd(&s->rnd, 50000000) };
        int r;

        step("sigtimedwait");
        r = rnd(&s->rnd, 8) == 0 ? sigtimedwait(&set, &info, &(struct timespec){ 0, 0 }) : sigtimedwait(&set, &info, &ts);
        if (r == SIG(k)) {
            received(k, &info);
            if (k == RtWait)
                inorder(&info, "sigtimedwait");
        } else if (r >= 0 || (errno != EAGAIN && errno != EINTR)) {
            fail("sigtimedwait: %d, %s", r, strerror(errno));
        }       /* EINTR also without a handler: it was woken for a signal that another thread then took */
        if (rnd(&s->rnd, 16) == 0)
            pausefor((long)rnd(&s->rnd, 5000));
    }
}

void waitown(struct slot *s) { waiter(s, RtWait); checkcounts(s); }
void waitshared(struct slot *s) { waiter(s, RtShared); }

/* Blocks everything but in sigsuspend. Main wakes it at the end. */
void
suspender(struct slot *s)
{
    sigset_t open;

    blocksignals(SIG_BLOCK, sigbit(SIGUSR1) | sigbit(SIGUSR2) | sigbit(SIG(RtHandler)) | sigbit(SIG(RtProcess)));
    must(pthread_sigmask(SIG_SETMASK, NULL, &open), "pthread_sigmask");
    sigdelset(&open, SIGUSR1);
    sigdelset(&open, SIGUSR2);
    sigdelset(&open, SIG(RtHandler));
    sigdelset(&open, SIG(RtProcess));
    while (!phaseis(Stopping)) {
        step("sigsuspend");
        MARK;
        if (sigsuspend(&open) != -1 || errno != EINTR)
            fail("sigsuspend: %s", strerror(errno));
        EINTRCHECK("sigsuspend", false);
        if (rnd(&s->rnd, 4) == 0)
            pausefor((long)rnd(&s->rnd, 2000));
    }
}

/* Reads what handlers write. */
void
drain(struct slot *s)
{
    uint64_t v[64], sum = 0, n = 0;
    ssize_t r;

    (void)s;
    while ((r = read(writepipe[0], v, sizeof v)) > 0) {
        step("read what handlers wrote");
        if (r % 8 != 0)
            fail("half a value: %zd bytes", r);
        for (ssize_t i = 0; i < r / 8; i++, n++)
            sum += v[i];
    }
    if (r < 0)
        fail("read: %s", strerror(errno));
    if (n != storm->got[RtWrite] || sum != storm->gotsum[RtWrite])
        fail("handlers wrote %lu values, %llu came", storm->got[RtWrite], (unsigned long long)n);
}

/* Takes what handlers post. */
void
taker(struct slot *s)
{
    unsigned long n = 0;

    (void)s;
    while (!phaseis(Stopping) || n < storm->got[RtPost]) {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_sec++;
        step("sem_timedwait for handlers");
        if (sem_timedwait(&posted, &ts) == 0)
            n++;
        else if (errno != ETIMEDOUT)
            fail("sem_timedwait: %s", strerror(errno));
    }
    if (n != storm->got[RtPost] || sem_trywait(&posted) == 0)
        fail("handlers posted %lu times, not %lu", n, storm->got[RtPost]);
}

bool
room(enum rt k)
{
    return storm->sent[k] < storm->got[k] + 400;
}

static void
sendone(struct slot *s, struct slot *to, uint32_t *seq)
{
    bool waits = strcmp(to->kind, "waitown") == 0;
    enum rt k = waits ? RtWait : RtHandler;

    switch (rnd(&s->rnd, 8)) {
    case 0: case 1: case 2:
        if (room(k))
            queuesignal(k, to, (uint32_t)s->nth + 1, ++*seq);
        break;
    case 3:
        if (room(RtWrite))
            queuesignal(RtWrite, rnd(&s->rnd, 2) ? to : NULL, (uint32_t)s->nth + 1, ++*seq);
        break;
    case 4:
        if (room(RtPost))
            queuesignal(RtPost, NULL, (uint32_t)s->nth + 1, ++*seq);
        break;
    case 5: must(pthread_kill(to->thread, rnd(&s->rnd, 8) == 0 ? 0 : SIGUSR1), "pthread_kill"); break;
    case 6: must(tgkill(storm->parent, to->tid, SIGUSR2), "tgkill"); break;
    default: must(kill(storm->parent, rnd(&s->rnd, 2) ? SIGUSR1 : SIGUSR2), "kill");
    }
}

void
sender(struct slot *s)
{
    uint32_t seq = 0;

    while (!phaseis(Draining)) {
        struct slot *to = &storm->slots[rnd(&s->rnd, (uint64_t)storm->nslots)];

        step("send");
        if (to->takes && atomic_load(&to->tid) != 0)
            sendone(s, to, &seq);
        if (rnd(&s->rnd, 4) == 0)
            pausefor((long)rnd(&s->rnd, 4000));
    }
}

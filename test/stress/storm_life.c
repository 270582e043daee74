/* The threads of the storm that create and cancel others.
 *
 * A victim blocks every signal that is counted: natively (glibc before 2.41) a thread that is cancelled in a
 * handler which interrupted a cancellation point is cancelled in the middle of that handler. It takes
 * SIGUSR1, whose handler only adds to counters; those that are cancelled asynchronously take none. */
#include "storm.h"
#include <poll.h>
#include <sys/socket.h>

enum way {
    InRead, InRecv, InPoll, InCond, InTimedCond, InSem, InSleep, InSigwait, InJoin, InTest, InAsync, InDisabled, InPause, AtOnce, NWAYS
};
static const char *const wayname[] = {
    "read", "recv", "poll", "cond_wait", "cond_timedwait", "sem_wait", "nanosleep", "sigwait", "join", "testcancel", "async",
    "disabled", "pause", "cancelled at once",
};

/* What a manager and its victims share. */
struct arena {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    sem_t sem, never;
    int pipe[2], sock[2];
    pthread_barrier_t two;
    pthread_t target;           /* whom a joiner joins */
};

struct victim {
    struct arena *ar;
    enum way way;
    pthread_t thread, other;
    bool mutual;                /* it cancels `other` first */
    _Atomic bool going;         /* it has come to where it is to be cancelled */
    _Atomic int inner, outer, keys;     /* how often each was run; inner first */
    _Atomic bool locked;
    volatile unsigned long spins;
};

static pthread_key_t key;

static void
keydone(void *v)
{
    atomic_fetch_add(&((struct victim *)v)->keys, 1);
}

static void
inner(void *v)
{
    struct victim *vp = v;

    if (vp->way == InCond || vp->way == InTimedCond)
        must(pthread_mutex_unlock(&vp->ar->lock), "unlock in a cleanup handler");
    if (atomic_fetch_add(&vp->inner, 1) != 0 || atomic_load(&vp->outer) != 0)
        fail("inner cleanup handler: out of turn in %s", wayname[vp->way]);
}

static void
outer(void *v)
{
    struct victim *vp = v;

    pausefor(atomic_load(&vp->going) ? 100 : 1);        /* being cancelled does not interrupt it any more */
    if (atomic_fetch_add(&vp->outer, 1) != 0 || atomic_load(&vp->inner) != 1)
        fail("outer cleanup handler: out of turn in %s", wayname[vp->way]);
}

static void
waitforever(struct victim *vp)
{
    struct arena *ar = vp->ar;
    struct pollfd p = { ar->pipe[0], POLLIN, 0 };
    struct timespec ts = { 1000, 0 };
    sigset_t set;
    char c;
    int sig;

    atomic_store(&vp->going, true);
    switch (vp->way) {
    case InRead: if (read(ar->pipe[0], &c, 1) != -1 || errno != EINTR) fail("victim: read"); break;
    case InRecv: if (recv(ar->sock[0], &c, 1, 0) != -1 || errno != EINTR) fail("victim: recv"); break;
    case InPoll: if (poll(&p, 1, -1) != -1 || errno != EINTR) fail("victim: poll"); break;
    case InCond: must(pthread_cond_wait(&ar->cond, &ar->lock), "victim: cond_wait"); break;
    case InTimedCond:
        clock_gettime(CLOCK_REALTIME, &ts);
        ts.tv_sec += 1000;
        must(pthread_cond_timedwait(&ar->cond, &ar->lock, &ts), "victim: cond_timedwait");
        break;
    case InSem: if (sem_wait(&ar->never) != -1 || errno != EINTR) fail("victim: sem_wait"); break;
    case InSleep: nanosleep(&ts, NULL); break;
    case InSigwait:
        sigemptyset(&set);
        sigaddset(&set, SIGALRM);
        must(sigwait(&set, &sig), "victim: sigwait");
        fail("victim: sigwait got %d", sig);
    case InJoin: must(pthread_join(ar->target, NULL), "victim: join"); fail("victim: joined");
    case InTest: pthread_testcancel(); sched_yield(); break;
    case InAsync: vp->spins++; break;
    case InDisabled:
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        pausefor(200);          /* may only be interrupted by a handler */
        must(pthread_mutex_lock(&ar->lock), "victim: lock");
        pausefor(51);
        must(pthread_mutex_unlock(&ar->lock), "victim: unlock");
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        pthread_testcancel();
        break;
    default: pause();
    }
}

static void *
victim(void *arg)
{
    struct victim *vp = arg;

    pthread_cleanup_push(outer, vp);
    pthread_cleanup_push(inner, vp);
    must(pthread_setspecific(key, vp), "pthread_setspecific");
    if (vp->mutual) {
        pthread_barrier_wait(&vp->ar->two);
        must(pthread_cancel(vp->other), "pthread_cancel of each other");
    }
    if (vp->way == InCond || vp->way == InTimedCond)
        must(pthread_mutex_lock(&vp->ar->lock), "victim: lock");
    if (vp->way != InAsync)
        blocksignals(SIG_UNBLOCK, sigbit(SIGUSR1));
    if (vp->way == InAsync)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        waitforever(vp);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void
spawn(pthread_t *t, void *(*fn)(void *), void *arg, bool detached)
{
    pthread_attr_t a;
    int e;

    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, (size_t)128 << 10);
    if (detached)
        pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    while ((e = pthread_create(t, &a, fn, arg)) == EAGAIN)
        pausefor(10000);
    must(e, "pthread_create");
    pthread_attr_destroy(&a);
    atomic_fetch_add(detached ? &storm->detached : &storm->created, 1);
}

static void
joincancelled(struct victim *vp)
{
    void *ret = NULL;

    must(pthread_join(vp->thread, &ret), "pthread_join");
    atomic_fetch_add(&storm->joined, 1);
    if (ret != PTHREAD_CANCELED)
        fail("victim in %s: returned %p", wayname[vp->way], ret);
    if (vp->inner != 1 || vp->outer != 1 || vp->keys != 1)
        fail("victim in %s: cleanup handlers ran %d and %d times, key's destructor %d", wayname[vp->way], vp->inner, vp->outer, vp->keys);
    atomic_fetch_add(&storm->cancels, 1);
    atomic_fetch_add(&storm->cleanups, 2);
    if (vp->way == InCond || vp->way == InTimedCond || vp->way == InDisabled) {
        must(pthread_mutex_trylock(&vp->ar->lock), "trylock after a victim");
        must(pthread_mutex_unlock(&vp->ar->lock), "unlock");
    }
}

static void *
target(void *arg)
{
    while (sem_wait(arg) != 0)
        if (errno != EINTR)
            fail("target: sem_wait: %s", strerror(errno));
    return arg;
}

static void
cancelone(struct slot *s, struct arena *ar)
{
    struct victim v = { .ar = ar, .way = (enum way)rnd(&s->rnd, NWAYS) };
    long us = (long)rnd(&s->rnd, 3000);

    if (v.way == InAsync && rnd(&s->rnd, 8) != 0)
        v.way = InTest;         /* seldom: on one processor it has its slice before every other gets on */
    if (v.way == InJoin)
        spawn(&ar->target, target, &ar->sem, false);
    spawn(&v.thread, victim, &v, false);
    if (v.way == InAsync || (v.way != AtOnce && us % 4 != 0)) {
        while (!atomic_load(&v.going))          /* asynchronous: it must be out of libc */
            sched_yield();
        if (v.way == InAsync)
            while (v.spins == 0)
                sched_yield();
        pausefor(us);
        if (us & 1)
            must(pthread_kill(v.thread, SIGUSR1), "pthread_kill of a victim");
    }
    step(wayname[v.way]);
    must(pthread_cancel(v.thread), "pthread_cancel");
    if (v.way != InAsync && us & 2)
        must(pthread_cancel(v.thread), "pthread_cancel again");
    joincancelled(&v);
    if (v.way == InJoin) {
        void *ret;

        must(sem_post(&ar->sem), "sem_post");
        must(pthread_join(ar->target, &ret), "join of a cancelled joiner's target");
        atomic_fetch_add(&storm->joined, 1);
        if (ret != &ar->sem)
            fail("target: returned %p", ret);
    }
}

/* Two that cancel each other. */
static void
canceleachother(struct slot *s, struct arena *ar)
{
    static const enum way ways[] = { InRead, InPoll, InSem, InSleep, InTest, InPause };
    struct victim v[2];

    memset(v, 0, sizeof v);
    for (int i = 0; i < 2; i++) {
        v[i].ar = ar;
        v[i].way = ways[rnd(&s->rnd, 6)];
        v[i].mutual = true;
    }
    spawn(&v[0].thread, victim, &v[0], false);
    v[1].other = v[0].thread;
    spawn(&v[1].thread, victim, &v[1], false);
    v[0].other = v[1].thread;
    step("join of two that cancel each other");
    pthread_barrier_wait(&ar->two);
    joincancelled(&v[0]);
    joincancelled(&v[1]);
}

void
manager(struct slot *s)
{
    struct arena ar;

    pthread_mutex_init(&ar.lock, NULL);
    pthread_cond_init(&ar.cond, NULL);
    sem_init(&ar.sem, 0, 0);
    sem_init(&ar.never, 0, 0);
    must(pipe(ar.pipe), "pipe");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ar.sock), "socketpair");
    pthread_barrier_init(&ar.two, NULL, 3);
    while (!phaseis(Stopping)) {
        if (rnd(&s->rnd, 5) == 0)
            canceleachother(s, &ar);
        else
            cancelone(s, &ar);
        step("pause");
        pausefor((long)rnd(&s->rnd, 10000));
    }
    must(pthread_mutex_destroy(&ar.lock), "destroy of a mutex at the end");
    must(pthread_cond_destroy(&ar.cond), "destroy of a condition variable at the end");
    pthread_barrier_destroy(&ar.two);
    for (int i = 0; i < 2; i++)
        close(ar.pipe[i]), close(ar.sock[i]);
}

struct node { int depth; uint64_t rnd; long below; };

static void *
grow(void *arg)
{
    struct node *n = arg, child[3];
    pthread_t t[3];
    int k = n->depth > 0 ? 1 + (int)rnd(&n->rnd, 3) : 0;

    for (int i = 0; i < k; i++) {
        child[i] = (struct node){ n->depth - 1, rnd(&n->rnd, UINT64_MAX) | 1, 0 };
        spawn(&t[i], grow, &child[i], false);
    }
    if (rnd(&n->rnd, 2))
        pausefor((long)rnd(&n->rnd, 1000));
    n->below = 1;
    for (int i = 0; i < k; i++) {
        void *ret = NULL;

        must(pthread_join(t[i], &ret), "pthread_join of a child");
        atomic_fetch_add(&storm->joined, 1);
        if (ret != &child[i] || child[i].below < 1)
            fail("child returned %p", ret);
        n->below += child[i].below;
    }
    return n;
}

static void *
alone(void *arg)
{
    pausefor((long)(uintptr_t)arg);
    atomic_fetch_add(&storm->ended, 1);
    return NULL;
}

void
creator(struct slot *s)
{
    while (!phaseis(Stopping)) {
        struct node root = { (int)rnd(&s->rnd, 4), rnd(&s->rnd, UINT64_MAX) | 1, 0 };
        pthread_t t;

        step("create a tree");
        grow(&root);
        step("create a detached thread");
        spawn(&t, alone, (void *)(uintptr_t)rnd(&s->rnd, 2000), true);
        pausefor((long)rnd(&s->rnd, 20000));
    }
}

void
life_init(void)
{
    must(pthread_key_create(&key, keydone), "pthread_key_create");
}

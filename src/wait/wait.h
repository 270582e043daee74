/* wait: what a thread can wait for. Functions return 0 or -errno (never touch errno), may park where
 * they say "parks", and work for foreign threads too, which then block in the kernel. */
#ifndef GOSSAMER_WAIT_H
#define GOSSAMER_WAIT_H

#ifndef _GNU_SOURCE
#error "wait.h needs _GNU_SOURCE"
#endif
#include "sched/sched.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- park.c: the one place to wait; a futex in user space ---- */

/* One waiter, on its own stack. Links, addr and bucket change under the bucket's lock. */
struct waiter {
    struct waiter *next, *prev;
    const void *_Atomic addr;
    struct bucket *_Atomic bucket;      /* where it is queued; NULL once it was taken out */
    struct g *gp;                       /* NULL: foreign */
    _Atomic uint32_t *wake;             /* &gp->wake, or its own word below */
    _Atomic uint32_t own;
    const void *aux;                    /* set before parkbegin: where unparkmove may move it; NULL: nowhere */
    uint32_t tag;                       /* meaning is the user's; futex bit sets */
    bool requeued;                      /* moved by requeue: what it first waited for has happened */
};

/* Queues the caller at addr if *addr is still `expect` (always, if word is NULL). False: it was not.
 * From a parkbegin that was true to the end of parkend the caller is pinned: it may do short things
 * (release a mutex), but not park. A handler that ran in between might wait itself, with the same words. */
bool parkbegin(struct waiter *w, const void *addr, const _Atomic uint32_t *word, uint32_t expect, uint32_t tag);
/* Waits until woken or the deadline (CLOCK_MONOTONIC ns; 0: none); parks. 0, -ETIMEDOUT, -EINTR. */
int parkend(struct waiter *w, int64_t when, enum waitreason why);
/* Both. -EAGAIN if *word was not `expect`. */
int park(_Atomic uint32_t *word, uint32_t expect, int64_t when, uint32_t tag, enum waitreason why);
/* Wakes up to n waiters at addr whose tag has a bit of mask, oldest first; how many. */
int unpark(const void *addr, int n, uint32_t mask);
/* The same, but *word is set to `left` under the lock when waiters with a bit of leftmask remain. */
int unparkleft(const void *addr, int n, uint32_t mask, uint32_t leftmask, _Atomic uint32_t *word, uint32_t left);
/* Wakes n, moves up to m others to addr2; how many were woken and moved. If word is given and is not
 * `expect`: -EAGAIN. */
int requeue(const void *addr, int n, int m, const void *addr2, const _Atomic uint32_t *word, uint32_t expect,
            int *moved);
/* Wakes one waiter at addr and moves the others to the first one's aux, those with another aux are woken. */
void unparkmove(const void *addr);
bool parkedat(const void *addr);        /* a hint that needs no lock: false is certain for who came before */
void parkreset(void);

/* A timespec of `clock` as a CLOCK_MONOTONIC deadline, at least 1. -EINVAL. */
int deadline(clockid_t clock, const struct timespec *abs, int64_t *out);

/* After a timeout: `clock` has not reached abs after all, it was set back. False without abs. */
bool beforetime(clockid_t clock, const struct timespec *abs);

/* ---- mutex.c ---- */

enum { MutexReal = 16 | 32 | 64 | 128 };        /* robust, PI, PP, process-shared: libc's */

static inline int
mutexkind(const pthread_mutex_t *m)
{
    return m->__data.__kind & 0x7f & ~MutexReal;
}

static inline _Atomic uint32_t *
mutexword(pthread_mutex_t *m)
{
    return (_Atomic uint32_t *)&m->__data.__lock;
}

int self_tid(void);
int mutex_lockslow(pthread_mutex_t *m, int64_t when);       /* parks; takes the lock word as contended */
int mutex_relock(pthread_mutex_t *m);           /* after a wait: as contended, any kind; parks */
int mutex_lock(pthread_mutex_t *m);             /* any kind that is ours; parks */
int mutex_trylock(pthread_mutex_t *m);
int mutex_timedlock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs);
int mutex_unlock(pthread_mutex_t *m);
void mutex_wake(pthread_mutex_t *m);

/* ---- realmutex.c: those that are libc's (MutexReal); positive errno, as from libc ---- */

/* Around a real call that makes the G the owner of something: r = real.x(...) between hold and held. */
struct g *realmutex_hold(void);
int realmutex_held(struct g *gp, int r);
void realmutex_release(struct g *gp);
int realmutex_lock(pthread_mutex_t *m);
int realmutex_trylock(pthread_mutex_t *m);
int realmutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs);
int realmutex_unlock(pthread_mutex_t *m);
int realmutex_passive(int r, int held);         /* after the real call in a passive process; r */

/* ---- cond.c, rwlock.c, sem.c, barrier.c, once.c ---- */

int cond_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *abs); /* parks */
void cond_signal(pthread_cond_t *c);
void cond_broadcast(pthread_cond_t *c);

int rwlock_rdlock(pthread_rwlock_t *rw, int64_t when, bool try);
int rwlock_wrlock(pthread_rwlock_t *rw, int64_t when, bool try);
int rwlock_unlock(pthread_rwlock_t *rw);

int sema_wait(sem_t *s, int64_t when, bool shared);
int sema_trywait(sem_t *s);
int sema_post(sem_t *s);

int barrier_wait(pthread_barrier_t *b);
int once(int *control, void (*fn)(void));
void unwindinit(void);          /* unwind.c: before a frame with a cleanup may be unwound; calls dlopen */

/* ---- futex.c: the program's own syscall(SYS_futex) ---- */

bool futex_ours(int op);
long futex_call(uint32_t *addr, int op, uint32_t val, const struct timespec *ts, uint32_t *addr2, uint32_t val3);

/* ---- sleep.c ---- */

int sleep_until(clockid_t clock, int64_t when);     /* parks */
int sleep_for(const struct timespec *req, struct timespec *rem); /* parks */
int sleep_clock(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem); /* parks */

/* ---- thread.c: the life of a thread ---- */

struct newthread {
    size_t stacksize, guardsize; /* bytes */
    void *stackaddr;            /* lowest address of the program's own stack, or NULL */
    bool detached;
    const sigset_t *sigmask;    /* its signal mask, or NULL: its creator's */
    const struct kattr *kattr;  /* how it shall be scheduled, or NULL */
};

int thread_create(pthread_t *th, const struct newthread *nt, void *(*fn)(void *), void *arg);   /* hook */
int thread_join(pthread_t th, void **ret, bool try, int64_t when);  /* parks */
int thread_detach(pthread_t th);
_Noreturn void thread_exit(void *ret);
struct g *thread_of(pthread_t th);      /* NULL: not one of ours, or gone */
struct g *thread_bytid(int tid);        /* likewise, by what gettid() says there; looks at all of them */

/* ---- kattr.c: what the kernel schedules a thread by ---- */

enum { KattrCpus = 1, KattrPolicy = 2, KattrNice = 4 };

struct kattr {
    struct kattr *next;
    unsigned has;               /* which of these */
    size_t size;                /* bytes of cpus */
    unsigned char cpus[1024 / 8];
    int policy, priority, nice;
};

int kattr_set(struct g *gp, const struct kattr *k);     /* now, or as soon as gp runs; -errno as the kernel's */
int kattr_check(const struct kattr *k);                 /* would it be granted to a new thread? -errno */
int kattr_leave(struct g *gp, const struct kattr *k);   /* gp shall take it on by itself; -ENOMEM */
/* What gp has yet to take on; returns the kernel thread (0: the calling one) that shows the rest. */
int kattr_get(struct g *gp, struct kattr *k);
void kattr_apply(struct g *gp);
void kattr_drop(struct g *gp);
void kattr_reset(void);         /* in a forked child */

/* ---- signal.c ---- */

int signal_action(int sig, const struct sigaction *new, struct sigaction *old); /* sets errno, as the real one */
int signal_mask(int how, const sigset_t *set, sigset_t *old);
void signal_maskfor(struct g *gp, const sigset_t *set);         /* of a G that has not begun */
void signal_closing(struct g *gp);      /* gp ends: it may have been the last that had a signal open */
int signal_altstack(const stack_t *new, stack_t *old);
void signal_boot(void);
bool signal_caught(int sig);
void signal_begin(struct g *gp);
bool signal_restarts(struct g *gp, bool timed);
extern struct g *signal_main;           /* takes what is sent to the process */

/* ---- sigqueue.c ---- */

int signal_send(struct g *gp, const siginfo_t *info);
bool signal_timed(const siginfo_t *info, struct g **to);        /* a timer's, for that G; NULL: it is gone */
void signal_handon(struct g *gp, const siginfo_t *info);
bool signal_process(const siginfo_t *info, uint64_t *mask);
void signal_deliver(struct g *gp);

/* Around locks that handlers take. A G is pinned (me, from pin()) and its handlers wait; a thread without a G blocks all
 * signals instead. */
static inline void
signal_hold(const struct g *me, uint64_t *mask)
{
    uint64_t all = ~UINT64_C(0);

    if (unlikely(me == NULL))
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&all), A(mask), 8);
}

static inline void
signal_unhold(const struct g *me, const uint64_t *mask)
{
    if (unlikely(me == NULL))
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(mask), 0, 8);
}

bool signal_waitagain(struct g *gp, uint64_t bits, bool showing);
long signal_pend(int sig, const siginfo_t *info);       /* for the calling kernel thread */
bool signal_takes(struct g *gp, int sig);       /* one that was sent to the process */
long signal_self(struct g *gp, const siginfo_t *info);  /* gp runs; the handler runs in here */
bool signal_issent(struct g *gp, const siginfo_t *info);
void signal_next(struct g *gp);
void signal_unblocked(struct g *gp);
uint64_t signal_pending(struct g *gp);
bool signal_blocked(const struct g *gp, int sig);
int signal_wait(const sigset_t *set, siginfo_t *info, const struct timespec *ts); /* signal or -errno */
const sigset_t *signal_callmask(const sigset_t *set, sigset_t *own);
long signal_maskedcall(const sigset_t *set, long nr, long a, long b, long c, long d, long e, long f); /* parks */
bool signal_timer(int timer, int tid);  /* what it sends is for tid; 0: no longer; false: no room */
_Noreturn void thread_vanish(void);     /* the calling G ends, without unwinding and destructors */
void signal_left(struct g *gp);         /* of a handler, perhaps, by a jump */
void signal_moveback(struct g *gp);     /* what signal_showing had moved to the kernel */
struct sigmoved { uint8_t n[65]; };     /* how many of each signal */
void signal_toexec(struct g *gp, struct sigmoved *moved);       /* what is queued is made pending in the kernel */
void signal_fromexec(struct g *gp, struct sigmoved *moved);     /* and back: there was no exec */
/* A call that looks at signalfds: number and arguments; for a G. */
long signal_showing(unsigned how, const long call[7], bool *again);
long signal_fdread(int fd, void *buf, size_t n);
void signal_flush(struct g *gp);        /* its end: what was for it only is gone */
void signal_reset(void);        /* in a forked child */
void signal_resetactions(void);
void signal_resettimers(void);

/* ---- read.c, write.c, mmsg.c, accept.c, connect.c, splice.c, iocall.c: parks, but for files ---- */

long io_read(int fd, void *buf, size_t n);
long io_write(int fd, const void *buf, size_t n);
long io_readv(int fd, const struct iovec *iov, int n);
long io_writev(int fd, const struct iovec *iov, int n);
long io_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *sa, socklen_t *len);
long io_recvmsg(int fd, struct msghdr *msg, int flags);
long io_sendto(int fd, const void *buf, size_t n, int flags, const struct sockaddr *sa, socklen_t len);
long io_sendmsg(int fd, const struct msghdr *msg, int flags);
/* Like preadv2(2) and pwritev2(2). */
long io_preadv(int fd, const struct iovec *iov, int n, off_t off, int flags);
long io_pwritev(int fd, const struct iovec *iov, int n, off_t off, int flags);
long io_recvmmsg(int fd, struct mmsghdr *vec, unsigned n, int flags, struct timespec *ts);
long io_sendmmsg(int fd, struct mmsghdr *vec, unsigned n, int flags);
long io_accept(int fd, struct sockaddr *sa, socklen_t *len, int flags);
long io_connect(int fd, const struct sockaddr *sa, socklen_t len);
long io_sendfile(int out, int in, off_t *off, size_t n);
long io_splice(int in, off_t *inoff, int out, off_t *outoff, size_t n, unsigned flags);
long io_tee(int in, int out, size_t n, unsigned flags);
long io_vmsplice(int fd, const struct iovec *iov, size_t n, unsigned flags);
/* Waits until fd may be read ('r') or written, its edge count is no longer seq, or the deadline; parks.
 * 0: try again; -EBADF: closed; -ETIMEDOUT; -EINTR; -EPERM: cannot be waited for this way. */
int io_block(struct g *gp, int fd, struct polldesc *pd, int queue, uint32_t seq, int64_t when);
void io_packets(void);          /* O_DIRECT was set on something: a pipe may be in packet mode */
int64_t io_until(const struct timeval *tv);     /* a deadline from now; 0: never, also for {0, 0} */
void io_closing(int fd);        /* wakes what waits for it; before the kernel closes it */
/* A call of kind syscall: between entersyscall and exitsyscall. Blocks: it surely will; NoPoint: it is no
 * cancellation point, and goes on if the thread is cancelled; Timed: a handler ends it, whatever SA_RESTART says. */
enum { Blocks = 1, NoPoint = 2, Timed = 4 };
void io_entercall(struct g *gp);        /* entersyscall for a call that is not made by io_syscall */
long io_syscall(unsigned how, long nr, long a, long b, long c, long d, long e, long f);

/* ---- poll.c: timeouts in ns, -1 for ever; on return the time that is left in *ns if it is > 0 ---- */

long poll_poll(struct pollfd *fds, nfds_t n, int64_t *ns);      /* parks */
long poll_epoll(int fd, struct epoll_event *ev, int n, int ms);
long poll_select(int n, fd_set *r, fd_set *w, fd_set *x, int64_t *ns); /* parks */

#endif

/* syscall(2): what has a hook goes through it, so that a raw call does not block where libc's would park, and nothing that
 * the runtime keeps - masks, handlers, descriptors, thread ids - changes behind its back.
 *
 * Raw calls take the kernel's structures and give its results, and none of them is a cancellation point.
 */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>

/* What a hook returned, as the kernel would. */
static long
kernels(long r)
{
    return r == -1 ? -errno : r;
}

/* ---- signals ---- */

struct ksigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

enum { KSIGSET = 8, RESTORER = 0x04000000 };

static long
action(int sig, const struct ksigaction *new, struct ksigaction *old, long size)
{
    struct sigaction sa, was;

    if (sig == 32 || sig == 33)         /* libc's own: not by way of it */
        return io_syscall(NoPoint, SYS_rt_sigaction, sig, A(new), A(old), size, 0, 0);
    if (size != KSIGSET)
        return -EINVAL;
    memset(&sa, 0, sizeof sa);
    memset(&was, 0, sizeof was);
    if (new != NULL) {
        sa.sa_handler = new->handler;
        sa.sa_flags = (int)(new->flags & ~(unsigned long)RESTORER);
        memcpy(&sa.sa_mask, &new->mask, KSIGSET);
    }
    if (sigaction(sig, new != NULL ? &sa : NULL, &was) < 0)
        return -errno;
    if (old != NULL) {
        *old = (struct ksigaction){ was.sa_handler, (unsigned long)was.sa_flags, NULL, 0 };
        memcpy(&old->mask, &was.sa_mask, KSIGSET);
    }
    return 0;
}

static long
procmask(int how, const void *new, void *old, long size)
{
    sigset_t set, was;
    long r;

    if (size != KSIGSET)
        return -EINVAL;
    sigemptyset(&set);
    sigemptyset(&was);
    if (new != NULL)
        memcpy(&set, new, KSIGSET);
    r = signal_mask(how, new != NULL ? &set : NULL, &was);
    if (r == 0 && old != NULL)
        memcpy(old, &was, KSIGSET);
    return r;
}

static long
pending(void *set, unsigned long size)
{
    sigset_t full;

    if (size > KSIGSET)
        return -EINVAL;
    if (sigpending(&full) < 0)
        return -errno;
    memcpy(set, &full, size);
    return 0;
}

struct sigpair {
    const sigset_t *set;
    size_t size;
};

/* ppoll and pselect6 without a mask: poll and select, and what is left of the time is written back. */
static long
unmasked(long nr, const long a[6])
{
    struct timespec *ts = (void *)a[nr == SYS_ppoll ? 2 : 4];
    int64_t ns = -1;
    long r;

    if (ts != NULL) {
        if (ts->tv_sec < 0 || ts->tv_nsec < 0 || ts->tv_nsec >= 1000000000)
            return -EINVAL;
        ns = ts->tv_sec >= INT64_MAX / 1000000000 - 1 ? INT64_MAX : ts->tv_sec * 1000000000 + ts->tv_nsec;
    }
    r = nr == SYS_ppoll ? poll_poll((void *)a[0], (nfds_t)a[1], &ns)
                        : poll_select((int)a[0], (void *)a[1], (void *)a[2], (void *)a[3], &ns);
    if (ts != NULL && ns >= 0)
        *ts = (struct timespec){ ns / 1000000000, ns % 1000000000 };
    return r;
}

/* A call that takes a mask at `at`, or through the pair that at points to: as ppoll and its like do. */
static long
masked(long nr, const long a[6], const void *mask, int at)
{
    struct sigpair pair;
    long b[6];
    sigset_t own;

    if (mask == NULL)
        switch (nr) {
        case SYS_ppoll: case SYS_pselect6: return unmasked(nr, a);
        case SYS_epoll_pwait: return poll_epoll((int)a[0], (void *)a[1], (int)a[2], (int)a[3]);
        default: return io_syscall(NoPoint | Blocks, nr, a[0], a[1], a[2], a[3], a[4], a[5]);
        }
    if (nr == SYS_pselect6 && ((struct sigpair *)a[5])->size != KSIGSET)
        return -EINVAL;
    memcpy(b, a, sizeof b);
    pair.set = signal_callmask(mask, &own);
    pair.size = KSIGSET;
    b[at] = nr == SYS_pselect6 ? A(&pair) : A(pair.set);
    return signal_maskedcall(pair.set, nr, b[0], b[1], b[2], b[3], b[4], b[5]);
}

static bool
signals(long nr, const long a[6], long *r)
{
    sigset_t set;

    switch (nr) {
    case SYS_rt_sigaction: *r = action((int)a[0], (void *)a[1], (void *)a[2], a[3]); return true;
    case SYS_rt_sigprocmask: *r = procmask((int)a[0], (void *)a[1], (void *)a[2], a[3]); return true;
    case SYS_rt_sigpending: *r = pending((void *)a[0], (unsigned long)a[1]); return true;
    case SYS_rt_sigsuspend: *r = masked(nr, a, (void *)a[0], 0); return true;
    case SYS_ppoll: *r = masked(nr, a, (void *)a[3], 3); return true;
    case SYS_pselect6: *r = masked(nr, a, a[5] != 0 ? ((struct sigpair *)a[5])->set : NULL, 5); return true;
    case SYS_epoll_pwait: case SYS_epoll_pwait2: *r = masked(nr, a, (void *)a[4], 4); return true;
    case SYS_rt_sigtimedwait:
        if (a[3] != KSIGSET)
            return false;
        *r = kernels(sigtimedwait((void *)a[0], (void *)a[1], (void *)a[2]));
        return true;
    case SYS_sigaltstack: *r = kernels(sigaltstack((void *)a[0], (void *)a[1])); return true;
    case SYS_kill: *r = kernels(kill((pid_t)a[0], (int)a[1])); return true;
    case SYS_tgkill: *r = kernels(tgkill((pid_t)a[0], (pid_t)a[1], (int)a[2])); return true;
    case SYS_tkill: *r = kernels(tgkill((pid_t)sys3(SYS_getpid, 0, 0, 0), (pid_t)a[0], (int)a[1])); return true;
    case SYS_rt_tgsigqueueinfo: *r = signal_rawqueue((pid_t)a[0], (pid_t)a[1], (int)a[2], (void *)a[3]); return true;
    case SYS_signalfd4:
        if (a[2] != KSIGSET)
            return false;
        sigemptyset(&set);
        memcpy(&set, (void *)a[1], KSIGSET);
        *r = kernels(signalfd((int)a[0], &set, (int)a[3]));
        return true;
    }
    return false;
}

/* ---- descriptors ---- */

static bool
messages(long nr, const long a[6], long *r)
{
    switch (nr) {
    case SYS_read: *r = io_read((int)a[0], (void *)a[1], (size_t)a[2]); return true;
    case SYS_write: *r = io_write((int)a[0], (void *)a[1], (size_t)a[2]); return true;
    case SYS_readv: *r = io_readv((int)a[0], (void *)a[1], (int)a[2]); return true;
    case SYS_writev: *r = io_writev((int)a[0], (void *)a[1], (int)a[2]); return true;
    case SYS_recvfrom:
        *r = io_recvfrom((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (void *)a[5]);
        return true;
    case SYS_sendto:
        *r = io_sendto((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (socklen_t)a[5]);
        return true;
    case SYS_recvmsg: *r = io_recvmsg((int)a[0], (void *)a[1], (int)a[2]); return true;
    case SYS_sendmsg: *r = io_sendmsg((int)a[0], (void *)a[1], (int)a[2]); return true;
    case SYS_recvmmsg:
        *r = io_recvmmsg((int)a[0], (void *)a[1], (unsigned)a[2], (int)a[3], (void *)a[4]);
        return true;
    case SYS_sendmmsg: *r = io_sendmmsg((int)a[0], (void *)a[1], (unsigned)a[2], (int)a[3]); return true;
    case SYS_preadv2: *r = io_preadv((int)a[0], (void *)a[1], (int)a[2], a[3], (int)a[5]); return true;
    case SYS_pwritev2: *r = io_pwritev((int)a[0], (void *)a[1], (int)a[2], a[3], (int)a[5]); return true;
    case SYS_sendfile: *r = io_sendfile((int)a[0], (int)a[1], (void *)a[2], (size_t)a[3]); return true;
    case SYS_splice:
        *r = io_splice((int)a[0], (void *)a[1], (int)a[2], (void *)a[3], (size_t)a[4], (unsigned)a[5]);
        return true;
    case SYS_tee: *r = io_tee((int)a[0], (int)a[1], (size_t)a[2], (unsigned)a[3]); return true;
    case SYS_vmsplice: *r = io_vmsplice((int)a[0], (void *)a[1], (size_t)a[2], (unsigned)a[3]); return true;
    case SYS_accept: *r = io_accept((int)a[0], (void *)a[1], (void *)a[2], 0); return true;
    case SYS_accept4: *r = io_accept((int)a[0], (void *)a[1], (void *)a[2], (int)a[3]); return true;
    case SYS_connect: *r = io_connect((int)a[0], (void *)a[1], (socklen_t)a[2]); return true;
    case SYS_epoll_wait: *r = poll_epoll((int)a[0], (void *)a[1], (int)a[2], (int)a[3]); return true;
    case SYS_poll: *r = kernels(poll((void *)a[0], (nfds_t)a[1], (int)a[2])); return true;
    case SYS_select:
        *r = kernels(select((int)a[0], (void *)a[1], (void *)a[2], (void *)a[3], (void *)a[4]));
        return true;
    }
    return false;
}

static bool
descriptors(long nr, const long a[6], long *r)
{
    switch (nr) {
    case SYS_close: *r = kernels(close((int)a[0])); return true;
    case SYS_dup2: *r = kernels(dup2((int)a[0], (int)a[1])); return true;
    case SYS_dup3: *r = kernels(dup3((int)a[0], (int)a[1], (int)a[2])); return true;
    case SYS_close_range: *r = kernels(close_range((unsigned)a[0], (unsigned)a[1], (int)a[2])); return true;
    case SYS_fcntl: *r = kernels(fcntl((int)a[0], (int)a[1], a[2])); return true;
    case SYS_ioctl: *r = kernels(ioctl((int)a[0], (unsigned long)a[1], a[2])); return true;
    case SYS_pipe: *r = kernels(pipe((int *)a[0])); return true;
    case SYS_pipe2: *r = kernels(pipe2((int *)a[0], (int)a[1])); return true;
    case SYS_setsockopt:
        *r = kernels(setsockopt((int)a[0], (int)a[1], (int)a[2], (void *)a[3], (socklen_t)a[4]));
        return true;
    }
    return false;
}

/* ---- the rest ---- */

/* Nothing of it is libc's: neither what is pending nor the environment changes. */
static long
exec(long nr, const long a[6])
{
    struct g *gp = getg();
    struct sigmoved moved = { 0 };
    long r;

    if (gp != NULL)
        signal_toexec(gp, &moved);
    r = sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (gp != NULL)
        signal_fromexec(gp, &moved);
    return r;
}

static bool
process(long nr, const long a[6], long *r)
{
    if (nr == SYS_exit && getg() != NULL)
        thread_vanish();
    switch (nr) {
    case SYS_nanosleep: *r = sleep_for((void *)a[0], (void *)a[1]); return true;
    case SYS_clock_nanosleep:
        *r = sleep_clock((int)a[0], (int)a[1], (void *)a[2], (void *)a[3]);
        return true;
    case SYS_capget: *r = kernels(capget((void *)a[0], (void *)a[1])); return true;
    case SYS_capset: *r = kernels(capset((void *)a[0], (void *)a[1])); return true;
    case SYS_prctl: *r = kernels(prctl((int)a[0], a[1], a[2], a[3], a[4])); return true;
    case SYS_sched_setaffinity: case SYS_sched_getaffinity: case SYS_sched_setscheduler: case SYS_sched_getscheduler:
    case SYS_sched_setparam: case SYS_sched_getparam: case SYS_setpriority: case SYS_getpriority:
        return affineraw(nr, a, r);
    case SYS_execve: case SYS_execveat: *r = exec(nr, a); return true;
    case SYS_exit: *r = sys3(SYS_exit, a[0], 0, 0); return true;
    case SYS_fork: case SYS_vfork: case SYS_clone: case SYS_clone3: *r = forkraw(nr, a); return true;
    case SYS_getrusage: *r = kernels(getrusage((__rusage_who_t)a[0], (void *)a[1])); return true;
    case SYS_timer_create: case SYS_timer_delete: *r = timerraw(nr, a); return true;
    }
    return false;
}

/* What is called often, and looks at no cancellation. */
static bool
quick(long nr, const long a[6], long *r)
{
    switch (nr) {
    case SYS_futex:
        if (!futex_ours((int)a[1]))
            return false;
        *r = futex_call((void *)a[0], (int)a[1], (uint32_t)a[2], (void *)a[3], (void *)a[4], (uint32_t)a[5]);
        return true;
    case SYS_gettid: case SYS_set_tid_address: *r = gettid(); return true;
    case SYS_sched_yield: *r = sched_yield(); return true;
    case SYS_clock_gettime:
        if ((clockid_t)a[0] >= 0 && (clockid_t)a[0] != CLOCK_THREAD_CPUTIME_ID)
            *r = sys3(SYS_clock_gettime, a[0], a[1], 0);
        else
            *r = kernels(clock_gettime((clockid_t)a[0], (void *)a[1]));
        return true;
    }
    return false;
}

/* A wait with a time limit at a futex that is not ours: the kernel does not restart it after a handler. */
static unsigned
timedfutex(long nr, const long a[6])
{
    int op = (int)a[1] & FUTEX_CMD_MASK;

    return nr == SYS_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && a[3] != 0 ? Timed : 0;
}

/* What is read here before the kernel sees it: for these calls a bad pointer is an error, and not a crash. Those that are frequent
 * (futex) or whose data are nested (the vectors of a message) are left out. */
static const struct {
    short nr, arg, size;
    bool null;                  /* may be NULL */
} reads[] = {
    { SYS_rt_sigaction, 1, sizeof(struct ksigaction), true }, { SYS_rt_sigaction, 2, sizeof(struct ksigaction), true },
    { SYS_rt_sigprocmask, 1, KSIGSET, true }, { SYS_rt_sigprocmask, 2, KSIGSET, true }, { SYS_rt_sigpending, 0, KSIGSET, false },
    { SYS_rt_sigsuspend, 0, KSIGSET, false }, { SYS_rt_sigtimedwait, 0, KSIGSET, false },
    { SYS_rt_sigtimedwait, 1, sizeof(siginfo_t), true }, { SYS_rt_sigtimedwait, 2, 16, true },
    { SYS_rt_tgsigqueueinfo, 3, sizeof(siginfo_t), false }, { SYS_signalfd4, 1, KSIGSET, false },
    { SYS_ppoll, 2, 16, true }, { SYS_ppoll, 3, KSIGSET, true }, { SYS_pselect6, 4, 16, true }, { SYS_pselect6, 5, 16, true },
    { SYS_epoll_pwait, 4, KSIGSET, true }, { SYS_epoll_pwait2, 4, KSIGSET, true }, { SYS_select, 4, 16, true },
    { SYS_nanosleep, 0, 16, false }, { SYS_nanosleep, 1, 16, true }, { SYS_clock_nanosleep, 2, 16, false },
    { SYS_clock_nanosleep, 3, 16, true }, { SYS_recvmsg, 1, sizeof(struct msghdr), false },
    { SYS_sendmsg, 1, sizeof(struct msghdr), false }, { SYS_recvmmsg, 4, 16, true }, { SYS_timer_create, 1, 64, true },
    { SYS_timer_create, 2, 8, false }, { SYS_getrusage, 1, sizeof(struct rusage), false }, { SYS_capget, 0, 8, false },
    { SYS_capset, 0, 8, false },
};

/* A call that reads a set and then finds that it does not know what to do with it. */
static bool
unreadable(const void *p, size_t n)
{
    return sys4(SYS_rt_sigprocmask, -1, A(p), 0, KSIGSET) == -EFAULT ||
           (n > KSIGSET && sys4(SYS_rt_sigprocmask, -1, A((const char *)p + n - KSIGSET), 0, KSIGSET) == -EFAULT);
}

/* Arrays: only as long as we would look at them; the others are the kernel's. */
static bool
badarray(long nr, const long a[6])
{
    enum { LONGEST = 1024 };
    size_t each;
    long at = 1;

    switch (nr) {
    case SYS_poll: case SYS_ppoll: each = sizeof(struct pollfd); at = 0; break;
    case SYS_readv: case SYS_writev: case SYS_preadv2: case SYS_pwritev2: each = sizeof(struct iovec); break;
    case SYS_recvmmsg: case SYS_sendmmsg: each = sizeof(struct mmsghdr); break;
    default: return false;
    }
    return a[at + 1] > 0 && a[at + 1] <= LONGEST && unreadable((void *)a[at], each * (size_t)a[at + 1]);
}

static bool
badpointer(long nr, const long a[6])
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        const void *p;

        if (reads[i].nr != nr)
            continue;
        p = (const void *)a[reads[i].arg];
        if (p == NULL ? !reads[i].null : unreadable(p, (size_t)reads[i].size))
            return true;
    }
    return badarray(nr, a);
}

/* Hooks are cancellation points: gp->raw says that they are not, unless the thread wants to be cancelled anywhere. */
long
rawcall(long nr, const long a[6])
{
    struct g *gp = getg();
    int saved = errno;
    bool outer = false;
    long r;

    if (gp != NULL) {
        outer = gp->raw;
        gp->raw = !tlsasync(gp);
    }
    if (!quick(nr, a, &r)) {
        if (badpointer(nr, a))
            r = -EFAULT;
        else if (!messages(nr, a, &r) && !descriptors(nr, a, &r) && !signals(nr, a, &r) && !process(nr, a, &r))
            r = io_syscall(NoPoint | timedfutex(nr, a), nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    if (gp != NULL) {
        gp->raw = outer;
        if (r == -EINTR && tlsasync(gp))
            cancelpoint();
    }
    errno = saved;
    return r;
}

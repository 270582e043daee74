/* Calls that change what the kernel keeps per thread: affinity, priority, namespaces, credentials for files,
 * and more. The G is locked to its M first, for good; its M ends with it; threads that it creates get
 * an M of their own that is made from its M, and so inherit what it changed, as native threads do.
 * How a thread is scheduled can be set by others too: wait/kattr.c. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

void
affine(enum gossamer_lock why)
{
    struct g *gp = getg();

    if (gp != NULL)
        lockforgood(gp, why);
}

/* Whom a pid argument means, if that is a G. */
static struct g *
who(pid_t pid)
{
    return !active ? NULL : pid == 0 ? getg() : thread_bytid(pid);
}

/* ---- affinity, policy, priority, nice value: of any thread ---- */

static int
setcpus(struct g *gp, size_t size, const cpu_set_t *set)
{
    struct kattr k = { .has = KattrCpus, .size = size < sizeof k.cpus ? size : sizeof k.cpus };

    memcpy(k.cpus, set, k.size);
    return kattr_set(gp, &k);
}

/* Bytes that were written, as the kernel's call returns, or -errno. */
static long
getcpus(struct g *gp, size_t size, cpu_set_t *set)
{
    struct kattr k;
    long r = sys3(SYS_sched_getaffinity, kattr_get(gp, &k), A(size), A(set));

    for (size_t i = 0; (k.has & KattrCpus) && r > 0 && i < (size_t)r; i++)
        ((unsigned char *)set)[i] = i < k.size ? k.cpus[i] : 0;
    return r;
}

static int
setpolicy(struct g *gp, int policy, const struct sched_param *p)
{
    struct kattr k = { .has = KattrPolicy, .policy = policy, .priority = p->sched_priority };

    return kattr_set(gp, &k);
}

static int
getpolicy(struct g *gp, struct sched_param *p)
{
    struct kattr k;
    int tid = kattr_get(gp, &k);
    long r;

    if (k.has & KattrPolicy) {
        if (p != NULL)
            p->sched_priority = k.priority;
        return k.policy;
    }
    r = p != NULL ? sys3(SYS_sched_getparam, tid, A(p), 0) : 0;
    return (int)(r < 0 ? r : sys3(SYS_sched_getscheduler, tid, 0, 0));
}

static int
setnice(struct g *gp, int nice)
{
    struct kattr k = { .has = KattrNice, .nice = nice < -20 ? -20 : nice > 19 ? 19 : nice };

    return kattr_set(gp, &k);
}

HOOK int
sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    struct g *gp = who(pid);

    return gp == NULL ? real.sched_setaffinity(pid, size, set) : (int)sysret(setcpus(gp, size, set));
}

HOOK int
sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    struct g *gp = who(pid);
    long r;

    if (gp == NULL)
        return real.sched_getaffinity(pid, size, set);
    r = getcpus(gp, size, set);
    if (r > 0 && (size_t)r < size)
        memset((char *)set + r, 0, size - (size_t)r);
    return (int)sysret(r > 0 ? 0 : r);
}

HOOK int
sched_setscheduler(pid_t pid, int policy, const struct sched_param *p)
{
    struct g *gp = who(pid);

    return gp == NULL ? real.sched_setscheduler(pid, policy, p) : (int)sysret(setpolicy(gp, policy, p));
}

HOOK int
sched_getscheduler(pid_t pid)
{
    struct g *gp = who(pid);

    return gp == NULL ? real.sched_getscheduler(pid) : (int)sysret(getpolicy(gp, NULL));
}

HOOK int
sched_setparam(pid_t pid, const struct sched_param *p)
{
    struct g *gp = who(pid);

    return gp == NULL ? real.sched_setparam(pid, p) : (int)sysret(setpolicy(gp, getpolicy(gp, NULL), p));
}

HOOK int
sched_getparam(pid_t pid, struct sched_param *p)
{
    struct g *gp = who(pid);
    int r;

    if (gp == NULL)
        return real.sched_getparam(pid, p);
    r = getpolicy(gp, p);
    return (int)sysret(r < 0 ? r : 0);
}

HOOK int
setpriority(__priority_which_t which, id_t id, int prio)
{
    struct g *gp = which == PRIO_PROCESS ? who((pid_t)id) : NULL;

    return gp == NULL ? real.setpriority(which, id, prio) : (int)sysret(setnice(gp, prio));
}

HOOK int
getpriority(__priority_which_t which, id_t id)
{
    struct g *gp = which == PRIO_PROCESS ? who((pid_t)id) : NULL;
    struct kattr k;
    int tid;

    if (gp == NULL)
        return real.getpriority(which, id);
    tid = kattr_get(gp, &k);
    return k.has & KattrNice ? k.nice : real.getpriority(which, (id_t)tid);
}

HOOK int
pthread_setaffinity_np(pthread_t th, size_t size, const cpu_set_t *set)
{
    struct g *gp = active ? thread_of(th) : NULL;

    return gp == NULL ? real.pthread_setaffinity_np(th, size, set) : -setcpus(gp, size, set);
}

HOOK int
pthread_getaffinity_np(pthread_t th, size_t size, cpu_set_t *set)
{
    struct g *gp = active ? thread_of(th) : NULL;
    long r;

    if (gp == NULL)
        return real.pthread_getaffinity_np(th, size, set);
    r = getcpus(gp, size, set);
    if (r > 0 && (size_t)r < size)
        memset((char *)set + r, 0, size - (size_t)r);
    return r < 0 ? (int)-r : 0;
}

HOOK int
pthread_setschedparam(pthread_t th, int policy, const struct sched_param *param)
{
    struct g *gp = active ? thread_of(th) : NULL;

    return gp == NULL ? real.pthread_setschedparam(th, policy, param) : -setpolicy(gp, policy, param);
}

HOOK int
pthread_getschedparam(pthread_t th, int *policy, struct sched_param *param)
{
    struct g *gp = active ? thread_of(th) : NULL;
    int r;

    if (gp == NULL)
        return real.pthread_getschedparam(th, policy, param);
    r = getpolicy(gp, param);
    if (r < 0)
        return -r;
    *policy = r;
    return 0;
}

HOOK int
pthread_setschedprio(pthread_t th, int priority)
{
    struct g *gp = active ? thread_of(th) : NULL;
    struct sched_param p = { .sched_priority = priority };

    return gp == NULL ? real.pthread_setschedprio(th, priority) : -setpolicy(gp, getpolicy(gp, NULL), &p);
}

/* The same as raw system calls; true: *r is the result. */
bool
affineraw(long nr, const long a[6], long *r)
{
    struct g *gp = who((pid_t)a[nr == SYS_setpriority || nr == SYS_getpriority]);
    struct sched_param *p = (struct sched_param *)a[1];
    struct kattr k;
    int tid;

    if (gp == NULL || ((nr == SYS_setpriority || nr == SYS_getpriority) && a[0] != PRIO_PROCESS))
        return false;
    switch (nr) {
    case SYS_sched_setaffinity: *r = setcpus(gp, (size_t)a[1], (const cpu_set_t *)a[2]); return true;
    case SYS_sched_getaffinity: *r = getcpus(gp, (size_t)a[1], (cpu_set_t *)a[2]); return true;
    case SYS_sched_setscheduler: *r = setpolicy(gp, (int)a[1], (const struct sched_param *)a[2]); return true;
    case SYS_sched_getscheduler: *r = getpolicy(gp, NULL); return true;
    case SYS_sched_setparam: *r = setpolicy(gp, getpolicy(gp, NULL), p); return true;
    case SYS_sched_getparam: *r = getpolicy(gp, p); *r = *r < 0 ? *r : 0; return true;
    case SYS_setpriority: *r = setnice(gp, (int)a[2]); return true;
    case SYS_getpriority:
        tid = kattr_get(gp, &k);
        *r = k.has & KattrNice ? 20 - k.nice : sys3(SYS_getpriority, PRIO_PROCESS, tid, 0);
        return true;
    }
    return false;
}

/* ---- what only the thread itself can change ---- */

/* The kernel takes 0 or the number of a kernel thread for a capability call. */
static void
capself(cap_user_header_t h, struct __user_cap_header_struct *own)
{
    struct g *gp = getg();

    *own = *h;
    if (gp != NULL && own->pid == gp->tid)
        own->pid = 0;
}

HOOK int
capget(cap_user_header_t h, cap_user_data_t data)
{
    struct __user_cap_header_struct own;
    int r;

    if (!active || h == NULL)
        return real.capget(h, data);
    capself(h, &own);
    r = real.capget(&own, data);
    h->version = own.version;   /* the kernel's, if it did not like ours */
    return r;
}

HOOK int
capset(cap_user_header_t h, const cap_user_data_t data)
{
    struct __user_cap_header_struct own;
    int r;

    if (!active || h == NULL)
        return real.capset(h, data);
    affine(GOSSAMER_LOCK_CREDENTIALS);
    capself(h, &own);
    r = real.capset(&own, data);
    h->version = own.version;
    return r;
}

HOOK int
nice(int inc)
{
    if (inc != 0)
        affine(GOSSAMER_LOCK_SCHEDULING);
    return real.nice(inc);
}

HOOK int
unshare(int flags)
{
    affine(GOSSAMER_LOCK_NAMESPACE);
    return real.unshare(flags);
}

HOOK int
setns(int fd, int type)
{
    affine(GOSSAMER_LOCK_NAMESPACE);
    return real.setns(fd, type);
}

HOOK int
setfsuid(uid_t uid)
{
    if (uid != (uid_t)-1)       /* which only asks */
        affine(GOSSAMER_LOCK_CREDENTIALS);
    return real.setfsuid(uid);
}

HOOK int
setfsgid(gid_t gid)
{
    if (gid != (gid_t)-1)
        affine(GOSSAMER_LOCK_CREDENTIALS);
    return real.setfsgid(gid);
}

/* The kinds of prctl that set something of the calling thread. */
bool
affineprctl(int option)
{
    switch (option) {
    case PR_SET_TIMERSLACK: case PR_SET_PDEATHSIG: case PR_SET_SECCOMP: case PR_SET_NO_NEW_PRIVS:
    case PR_SET_KEEPCAPS: case PR_SET_SECUREBITS: case PR_CAPBSET_DROP: case PR_CAP_AMBIENT:
    case PR_SET_SPECULATION_CTRL: case PR_SET_TSC: case PR_SET_UNALIGN: case PR_MCE_KILL:
        return true;
    }
    return false;
}

/* The same for syscall(2). */
bool
affinesyscall(long nr)
{
    switch (nr) {
    case SYS_sched_setattr: case SYS_ioprio_set: case SYS_capset: case SYS_set_mempolicy: case SYS_seccomp:
    case SYS_perf_event_open: case SYS_io_uring_setup: case SYS_ptrace: case SYS_unshare: case SYS_setns:
    case SYS_setfsuid: case SYS_setfsgid: case SYS_keyctl: case SYS_landlock_restrict_self:
    case SYS_setresuid: case SYS_setresgid: case SYS_setuid: case SYS_setgid: case SYS_setreuid: case SYS_setregid:
    case SYS_setgroups: case SYS_personality: case SYS_set_robust_list: case SYS_arch_prctl:
        return true;
    }
    return false;
}

/* Calls that change what the kernel keeps per thread: affinity, priority, namespaces, credentials for files,
 * and more. The G is locked to its M first, for good; its M ends with it; threads that it creates get
 * an M of their own that is made from its M, and so inherit what it changed, as native threads do. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <linux/capability.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

void
affine(void)
{
    struct g *gp = getg();

    if (gp != NULL && !gp->affine) {
        gp->affine = true;
        lockOSThread(gp);
    }
}

/* A pid argument that means the calling thread. */
static bool
self(pid_t pid)
{
    struct g *gp = curg;

    return gp != NULL && (pid == 0 || pid == gp->tid);
}

/* Another G's tid means nothing to the kernel: ESRCH. The main G's is the process's, and main's M may
 * be any: what is set for it by number stays with the kernel thread that the process began with. */
#define BYPID(ret, name, params, pid, args, raw) \
    HOOK ret \
    name params \
    { \
        if (!active || !self(pid)) \
            return real.name args; \
        affine(); \
        pid = 0; \
        return real.name raw; \
    }

BYPID(int, sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *set), pid, (pid, size, set), (pid, size, set))
BYPID(int, sched_setscheduler, (pid_t pid, int policy, const struct sched_param *p), pid, (pid, policy, p), (pid, policy, p))
BYPID(int, sched_setparam, (pid_t pid, const struct sched_param *p), pid, (pid, p), (pid, p))

HOOK int
sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    return real.sched_getaffinity(active && self(pid) ? 0 : pid, size, set);
}

HOOK int
setpriority(__priority_which_t which, id_t who, int prio)
{
    if (!active || which != PRIO_PROCESS || !self((pid_t)who))
        return real.setpriority(which, who, prio);
    affine();
    return real.setpriority(which, 0, prio);
}

HOOK int
nice(int inc)
{
    if (inc != 0)
        affine();
    return real.nice(inc);
}

HOOK int
unshare(int flags)
{
    affine();
    return real.unshare(flags);
}

HOOK int
setns(int fd, int type)
{
    affine();
    return real.setns(fd, type);
}

HOOK int
setfsuid(uid_t uid)
{
    if (uid != (uid_t)-1)       /* which only asks */
        affine();
    return real.setfsuid(uid);
}

HOOK int
setfsgid(gid_t gid)
{
    if (gid != (gid_t)-1)
        affine();
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

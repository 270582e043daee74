/* fork and what is like it. The child is passive, whoever forked and by whichever name. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "base/elfsym.h"
#include <linux/sched.h>
#include <stdarg.h>
#include <string.h>

/* In the child, which has one thread. */
void
forked(void)
{
    if (active) {
        parkreset();
        signal_reset();
        kattr_reset();
        loadreset();
        bootchild();
    }
}

/* The tracer of a child that asks for it is the kernel thread that forked it, and nobody else may use ptrace on it. A
 * program that calls ptrace forks from Gs that stay on their M. */
static void
beforefork(void)
{
    static _Atomic int traces = -1;
    int t = load_rlx(&traces);

    if (!active || curg == NULL)
        return;
    if (t < 0) {
        t = 0;
        for (const struct link_map *lm = _r_debug.r_map; lm != NULL && !t; lm = lm->l_next)
            t = lm != elfself() && elfrefers(lm, "ptrace");
        store_rlx(&traces, t);
    }
    if (t)
        affine(GOSSAMER_LOCK_TRACE);
}

/* Our child handler, registered in init.c, comes before any other. */
HOOK pid_t
fork(void)
{
    beforefork();
    return real.fork();
}

HOOK pid_t
_Fork(void)
{
    pid_t pid;

    beforefork();
    pid = real._Fork();

    if (pid == 0)
        forked();
    return pid;
}

/* arch's vfork comes here when active: the child would share the runtime with its sleeping parent. */
__attribute__((used)) pid_t
vforkactive(void)
{
    return fork();
}

/* ---- clone ----
 *
 * A child with memory of its own is as after fork. One that borrows ours until it executes something
 * (CLONE_VM and CLONE_VFORK) gets a copy, as with vfork. One that keeps sharing it is a foreign thread;
 * without a thread pointer of its own it would pass for the G that made it, so it is given one.
 */
enum { MAXCLONES = 256 };

/* Blocks of foreign threads; the kernel clears `tid` when the thread is gone. Taken by CAS. */
static struct clone {
    _Atomic int tid;
    struct g *gp;               /* for its block only; made once */
    int (*fn)(void *);
    void *arg;
} clones[MAXCLONES];

static int
clonechild(void *p)
{
    struct clone c = *(struct clone *)p;

    forked();
    return c.fn(c.arg);
}

static int
cloneforeign(void *p)
{
    struct clone *c = p;

    tlsforeign();
    return c->fn(c->arg);
}

static struct clone *
cloneget(void)
{
    for (int i = 0; i < MAXCLONES; i++) {
        struct clone *c = &clones[i];
        struct slot slot;
        int free = 0, class;

        if (!atomic_compare_exchange_strong(&c->tid, &free, -1))
            continue;
        if (c->gp != NULL)
            tlsrenew(c->gp, 0);
        else if ((class = slotclass(0, 0, tlsextra())) >= 0 && slotalloc(&slot, class) == 0)
            c->gp = tlsnew(&slot, 0);
        if (c->gp != NULL)
            return c;
        store_rlx(&c->tid, 0);
        break;
    }
    errno = EAGAIN;
    return NULL;
}

/* The flags for a child that would share our memory only until it executes something. */
static int
unshared(int flags)
{
    return (flags & (CLONE_VM | CLONE_VFORK | CLONE_THREAD)) == (CLONE_VM | CLONE_VFORK) ? flags & ~CLONE_VM : flags;
}

HOOK int
clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
    struct clone own = { .fn = fn, .arg = arg }, *c;
    pid_t *ptid, *ctid;
    void *tls;
    va_list ap;
    int r;

    va_start(ap, arg);
    ptid = va_arg(ap, pid_t *);
    tls = va_arg(ap, void *);
    ctid = va_arg(ap, pid_t *);
    va_end(ap);
    if (!active || fn == NULL || stack == NULL)
        return real.clone(fn, stack, flags, arg, ptid, tls, ctid);
    flags = unshared(flags);
    if ((flags & CLONE_VM) == 0)
        return real.clone(clonechild, stack, flags, &own, ptid, tls, ctid);
    if (flags & CLONE_SETTLS)
        return real.clone(fn, stack, flags, arg, ptid, tls, ctid);
    if ((c = cloneget()) == NULL)
        return -1;
    c->fn = fn;
    c->arg = arg;
    flags |= CLONE_SETTLS;
    if ((flags & CLONE_CHILD_CLEARTID) == 0) {  /* otherwise we never learn of its end, and the block stays taken */
        flags |= CLONE_CHILD_CLEARTID;
        ctid = (pid_t *)&c->tid;
    }
    r = real.clone(cloneforeign, stack, flags, c, ptid, tlsforeignblock(c->gp), ctid);
    if (r < 0)
        store_rlx(&c->tid, 0);
    return r;
}

HOOK int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) __attribute__((alias("clone"), nothrow, leaf));

/* fork, vfork, clone and clone3 as raw system calls; -errno. Without a stack for the child all are forks. */
long
forkraw(long nr, const long a[6])
{
    struct clone_args args;
    long r;

    switch (nr) {
    case SYS_vfork:
        r = sys3(SYS_fork, 0, 0, 0);
        break;
    case SYS_clone:
        r = sys6(nr, a[1] == 0 ? unshared((int)a[0]) : a[0], a[1], a[2], a[3], a[4], 0);
        break;
    case SYS_clone3:
        if ((size_t)a[1] < sizeof args.flags || (size_t)a[1] > sizeof args || a[0] == 0)
            return sys3(nr, a[0], a[1], 0);
        memcpy(&args, (const void *)a[0], (size_t)a[1]);
        args.flags = (args.flags & ~UINT64_C(0xffffffff)) | (unsigned)unshared((int)args.flags);
        r = sys3(nr, A(&args), a[1], 0);
        break;
    default:
        r = sys3(nr, 0, 0, 0);
    }
    if (r == 0)
        forked();
    return r;
}

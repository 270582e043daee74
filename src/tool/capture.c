/*
 * The stack of a G.  A G that does not run has left its registers at g.sp, and
 * is read as it lies there; that it has not run since is checked afterwards.  One that runs,
 * or is in a system call, has them in its kernel thread, which is stopped for as long as
 * it takes to copy registers and the top of the stack (PTRACE_SEIZE: no signal is sent to
 * it, and a program that is stopped already stays so).
 */
#include "inspect.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { COPY = 16384, TRIES = 6, STOPTRIES = 5000, MAXPENDING = 64 };

static unsigned char copy[COPY];

static size_t
copystack(const struct target *t, const struct gsnap *gp, uint64_t sp)
{
    size_t n = COPY;

    if (gp->stkhi > sp && gp->stkhi - sp < n)
        n = (size_t)(gp->stkhi - sp);
    return target_readsome(t, sp, copy, n);
}

static uint64_t
at(size_t off)
{
    uint64_t v;

    memcpy(&v, copy + off, sizeof v);
    return v;
}

static bool
parked(struct target *t, const struct gsnap *gp, struct stack *st)
{
    size_t n = copystack(t, gp, gp->sp);
    struct regs regs;

    if (n < t->l.context.rsp || !snap_same(t, gp))
        return false;
    regs = (struct regs){
        at(t->l.context.rbx), at(t->l.context.rbp), at(t->l.context.r12), at(t->l.context.r13),
        at(t->l.context.r14), at(t->l.context.r15), at(t->l.context.rip), gp->sp + t->l.context.rsp,
    };
    *st = (struct stack){ 0 };
    unwind_stack(t, &regs, gp->sp, copy, n, st);
    return true;
}

/* ---- running ---- */

/* Threads that were told to stop and have not yet: asleep in the kernel where nothing wakes them. They
 * must go on as soon as they do. */
static int pending[MAXPENDING];
static int npending;
static char why[64];

const char *
capture_why(void)
{
    return why;
}

/* Who may not be traced: the kernel allows one tracer. */
static void
nottraced(int tid, int err)
{
    char path[64], line[128];
    int tracer = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", tid);
    if ((f = fopen(path, "re")) != NULL) {
        while (tracer == 0 && fgets(line, sizeof line, f) != NULL)
            sscanf(line, "TracerPid: %d", &tracer);
        fclose(f);
    }
    if (tracer != 0)
        snprintf(why, sizeof why, "traced by process %d", tracer);
    else
        snprintf(why, sizeof why, "%s", strerror(err));
}

void
capture_settle(void)
{
    int status, n = 0;

    for (int i = 0; i < npending; i++)
        if (waitpid(pending[i], &status, __WALL | WNOHANG) != pending[i])
            pending[n++] = pending[i];
        else if (WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, pending[i], NULL, (void *)(long)(status >> 16 == 0 ? WSTOPSIG(status) : 0));
    npending = n;
}

/* Stopped, with the signal that it is to have when it goes on; false: it cannot be. */
static bool
stop(int tid, int *sig)
{
    struct timespec nap = { 0, 100000 };
    int status;

    for (int i = 0; i < npending; i++)
        if (pending[i] == tid) {
            snprintf(why, sizeof why, "thread %d does not wake up", tid);
            return false;
        }
    if (npending == MAXPENDING)
        return false;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        nottraced(tid, errno);
        return false;
    }
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) {
        pending[npending++] = tid;      /* it ends just now */
        return false;
    }
    for (int i = 0; i < STOPTRIES; i++) {
        if (waitpid(tid, &status, __WALL | WNOHANG) == tid) {
            if (!WIFSTOPPED(status))
                return false;
            *sig = status >> 16 == 0 ? WSTOPSIG(status) : 0;
            return true;
        }
        if (i > 10)
            nanosleep(&nap, NULL);
    }
    pending[npending++] = tid;
    snprintf(why, sizeof why, "thread %d does not wake up", tid);
    return false;
}

/* Is the M still running this G, on its stack? */
static bool
still(const struct target *t, const struct gsnap *gp, uint64_t sp)
{
    uint64_t curg = 0;
    int64_t goid = 0;

    return target_read(t, gp->maddr + t->l.m.curg, &curg, sizeof curg) && curg == gp->addr &&
           target_read(t, gp->addr + t->l.g.goid, &goid, sizeof goid) && goid == gp->goid &&
           (gp->stkhi == 0 || (sp >= gp->stklo && sp < gp->stkhi));
}

static bool
onthread(struct target *t, const struct gsnap *gp, struct stack *st)
{
    struct user_regs_struct r;
    struct regs regs;
    size_t n = 0;
    int tid, sig = 0;
    bool ok;

    if (gp->maddr == 0 || !target_read(t, gp->maddr + t->l.m.tid, &tid, sizeof tid) || tid <= 0)
        return false;
    if (t->core != NULL) {
        if (!core_regs(t->core, tid, &regs) || !still(t, gp, regs.rsp))
            return false;
        n = copystack(t, gp, regs.rsp);
    } else {
        if (!stop(tid, &sig))
            return false;
        ok = ptrace(PTRACE_GETREGS, tid, NULL, &r) == 0 && still(t, gp, r.rsp) &&
             (n = copystack(t, gp, r.rsp)) != 0;
        ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)sig);
        if (!ok)
            return false;
        regs = (struct regs){ r.rbx, r.rbp, r.r12, r.r13, r.r14, r.r15, r.rip, r.rsp };
    }
    *st = (struct stack){ .exact = { 1 } };
    unwind_stack(t, &regs, regs.rsp, copy, n, st);
    return true;
}

bool
capture(struct target *t, struct gsnap *gp, struct stack *st)
{
    struct gsnap again;
    uint64_t next;

    capture_settle();
    snprintf(why, sizeof why, "it was elsewhere each time");
    for (int try = 0; try < TRIES; try++) {
        bool running = gp->status == GOSSAMER_RUNNING || gp->status == GOSSAMER_SYSCALL;

        if (snap_ended(t, gp)) {
            *st = gp->start != 0 ? (struct stack){ .pc = { gp->start }, .exact = { 1 }, .n = 1 } : (struct stack){ 0 };
            return true;
        }
        if (running ? onthread(t, gp, st) : parked(t, gp, st))
            return true;
        /* in a core nothing moves: it was caught between the two */
        if (t->core != NULL && running && parked(t, gp, st))
            return true;
        if (!snap_g(t, gp->addr, &again, &next))
            return false;
        if (again.goid != gp->goid || again.status == GOSSAMER_DEAD) {
            gp->status = GOSSAMER_DEAD;
            return false;
        }
        again.m = gp->m;
        again.p = gp->p;
        again.stolen = gp->stolen && again.status == GOSSAMER_RUNNING && again.runs == gp->runs;
        *gp = again;
    }
    return false;
}

/* Preemption by SIGURG, Go's signal for it: by default ignored, so that a stray one harms nobody.
 *
 * sysmon sends it to an M whose G has used up its slice while others wait. The handler goes on with another
 * G from inside the signal frame, which lies on the G's own stack and holds all its registers; whichever
 * M runs the G again returns through that frame. It must not be done where the G is a bystander of
 * something it cannot leave half done: pinned in the runtime, in libc and the dynamic loader (their internal locks
 * are the kernel's business, a waiter would block its M; but see leaf), in the vDSO (which may restart by its program
 * counter), on an alternate signal stack, and anywhere in our own code, which may be the end of a handler of ours
 * that stands on top of one of these. (A handler of the program's above our own code may be: it could wait there, too.) There pp->preempt stays set, and the next way through the runtime
 * honours it.
 *
 * A SIGURG that no thread of this process sent to this one, or that a hook sent for the program (gp->sent), is the program's (preemptother). The handler begins with all signals blocked: with SIGURG,
 * because at its own entry the pc would say nothing about what lies below; with the others, because the kernel would put
 * their frames on top of ours, and a handler of the program's that does not come back (longjmp, pthread_exit, cancellation)
 * would leave the M deaf to SIGURG for ever.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/probe.h"
#include "base/real.h"
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

enum { MAXRANGES = 16 };

static struct { uintptr_t lo, hi; bool leaves; } ranges[MAXRANGES];        /* leaves: see leaf */
static int nranges;
static struct { uintptr_t lo, hi; } own;        /* our own code */
bool asyncpreempt = true;
void (*preemptother)(int, siginfo_t *, void *);
void (*preemptcancel)(struct g *gp);
struct sigaction preemptolder;  /* the program's, from before we started */

static bool
covers(const struct dl_phdr_info *info, const void *addr)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type == PT_LOAD && (uintptr_t)addr - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
            return true;
    }
    return false;
}

static int
addranges(struct dl_phdr_info *info, size_t size, void *unused)
{
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

    (void)size;
    (void)unused;
    if (covers(info, (const void *)addranges)) {
        for (int i = 0; i < info->dlpi_phnum; i++)
            if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
                own.lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
                own.hi = own.lo + info->dlpi_phdr[i].p_memsz;
            }
        return 0;
    }
    if (!covers(info, (const void *)real.fork) && !covers(info, real.dlsym(RTLD_DEFAULT, "_dl_allocate_tls")) && !(vdso != NULL && covers(info, vdso)))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && nranges < MAXRANGES; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
            ranges[nranges].leaves = !covers(info, real.dlsym(RTLD_DEFAULT, "_dl_allocate_tls"));
            ranges[nranges].lo = info->dlpi_addr + ph->p_vaddr;
            ranges[nranges++].hi = info->dlpi_addr + ph->p_vaddr + ph->p_memsz;
        }
    }
    return 0;
}

static bool
inlibs(uintptr_t pc)
{
    for (int i = 0; i < nranges; i++)
        if (pc >= ranges[i].lo && pc < ranges[i].hi)
            return true;
    return pc >= own.lo && pc < own.hi;
}

/* Is there a call in front of this address? It may be anything: the kernel is asked first whether it can be read. */
static bool
aftercall(uintptr_t ret)
{
    const uint8_t *p = (const uint8_t *)ret;

    if (ret <= 4096 || sys4(SYS_rt_sigprocmask, -1, (long)ret - 8, 0, 8) == -EFAULT)
        return false;           /* NULL is no set, and no error */
    return p[-5] == 0xe8 || (p[-6] == 0xff && (p[-5] == 0x15 || (p[-5] & 0xf8) == 0x90)) ||
           (p[-2] == 0xff && (p[-1] & 0xf8) == 0xd0) || (p[-3] == 0xff && ((p[-2] & 0xf8) == 0x50 || p[-2] == 0x14)) ||
           (p[-4] == 0xff && p[-3] == 0x54) || (p[-7] == 0xff && p[-6] == 0x94);
}

/* A function of libc's that has no frame yet and was called by the program: a copy of memory, the call of the kernel behind
 * stat. It can hold no lock, since it has called nobody. Loops over such functions are hardly ever seen outside of them. */
static bool
leaf(uintptr_t sp)
{
    uintptr_t ret = *(const uintptr_t *)sp;

    return !inlibs(ret) && aftercall(ret);
}

bool
runtimecode(const void *ucontext)
{
    const ucontext_t *uc = ucontext;
    uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

    return pc >= own.lo && pc < own.hi;
}

bool
untouchable(struct g *gp, const void *ucontext)
{
    const ucontext_t *uc = ucontext;
    uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP], sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

    if (pc >= own.lo && pc < own.hi)
        return true;
    for (int i = 0; i < nranges; i++)
        if (pc >= ranges[i].lo && pc < ranges[i].hi && (!ranges[i].leaves || !leaf(sp)))
            return true;
    return gp->altstack.ss_sp != NULL && sp - (uintptr_t)gp->altstack.ss_sp < gp->altstack.ss_size;
}

/* The G is to be cancelled, or has a signal queued, and is in a call of io_syscall's, which has not begun yet, or
 * which the kernel is about to start again after this handler: it shall return -EINTR instead. No other
 * call: libc's own (a priority-inheriting lock) do not expect EINTR. */
bool
breakcall(void *ucontext)
{
    ucontext_t *uc = ucontext;
    const uint8_t *pc = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];

    if (pc == sys6_call) {
        uc->uc_mcontext.gregs[REG_RIP] += 2;
        uc->uc_mcontext.gregs[REG_RAX] = -EINTR;
    } else if (pc >= sys6_begin && pc < sys6_call) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)sys6_not;
    } else {
        return false;
    }
    return true;
}

/* Signals that are queued, the end of the slice, cancellation: all with the mask that the G is known to
 * have, since each may run another G, and with none over code that must not be left half done. */
static void
lookaround(struct g *gp, void *ucontext)
{
    bool outer = gp->nopreempt;
    struct p *pp;

    gp->locks++;
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
    gp->nopreempt |= untouchable(gp, ucontext);
    if (gp->nopreempt && gp->m->p != NULL && load_rlx(&gp->m->p->preempt))
        gp->m->count.deferred++;
    gp->sigwork = true;
    unpin(gp);
    gp->nopreempt = outer;
    pp = gp->m->p;              /* perhaps another by now */
    if (pp != NULL && load_rlx(&pp->preempt))
        gp->sigwork = true;     /* put off: for the next way through the runtime */
}

/* At the edges of a program's handler the kernel's mask is not yet, or no longer, the one that gp is known to
 * have: nothing may be opened there. */
static bool
maskknown(const struct g *gp, const ucontext_t *uc)
{
    uint64_t mask;

    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    return (mask & ~(UINT64_C(3) << 31 | UINT64_C(1) << (SIGURG - 1))) == gp->sigmask;
}

/* gp is in a system call, and somebody wants something of it. In io_syscall's it comes back for that. Another is
 * libc's (a process-shared condition variable or barrier, a robust mutex): there signals are handled on top, as those
 * that the kernel delivers there, and cancellation is acted on where libc allows it just now, as it would itself. */
static void
incall(struct g *gp, void *ucontext)
{
    if (breakcall(ucontext) || gp->locks > 0 || gp->delivering || !maskknown(gp, ucontext))
        return;
    if (gp->sigwork && signaldeliver != NULL)
        signaldeliver(gp);
    if (cancelnow(gp) && tlsasync(gp) && preemptcancel != NULL) {
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
        exitsyscall(gp);
        preemptcancel(gp);
    }
}

static void
onurg(int sig, siginfo_t *info, void *ucontext)
{
    struct g *gp = curg;
    int saved = errno;
    struct m *mp = gp != NULL ? gp->m : curm;
    bool bare = info->si_code == SI_USER && info->si_pid == 0 && mp != NULL && load_rlx(&mp->preempting);
    bool ours = (bare || (info->si_code == SI_TKILL && info->si_pid == (pid_t)sys3(SYS_getpid, 0, 0, 0))) && active;

    /* The program's, from signal_self: a poke of ours that came at the same time is the same pending signal. */
    if (gp != NULL && mp != NULL && gp->sigsent && ((siginfo_t *)(void *)gp->sent)->si_signo == SIGURG) {
        if (atomic_exchange(&mp->preempting, false))
            gp->sigwork = true;
        memcpy(info, gp->sent, sizeof gp->sent);
        ours = false;
    }

    /* Any other that this process sent to one of its threads is a poke: tgkill and syscall are hooks. It is `bare` where
     * RLIMIT_SIGPENDING is used up: then it comes without its siginfo, as one from outside a pid namespace does. */
    if (ours && mp != NULL) {
        atomic_store(&mp->preempting, false);
    } else {
        if (preemptother != NULL) {
            uint64_t mask;

            memcpy(&mask, &((ucontext_t *)ucontext)->uc_sigmask, sizeof mask);
            mask |= UINT64_C(1) << (SIGURG - 1);
            sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&mask), 0, 8);
            preemptother(sig, info, ucontext);
        }
        errno = saved;
        return;
    }
    if (gp == NULL) {
        /* Not on an M that is awake: it may just have set the mask of the G that it goes on with. */
        if (load_rlx(&masksused) && (mp == &sigm || *(volatile bool *)&mp->blocked)) {
            uint64_t mask = maskpoked(mp);

            memcpy(&((ucontext_t *)ucontext)->uc_sigmask, &mask, sizeof mask);
        }
    } else if (gp->insys) {
        if (gp->sigwork || cancelnow(gp))
            incall(gp, ucontext);
    } else if (gp->locks == 0) {
        if (!gp->delivering && maskknown(gp, ucontext))
            lookaround(gp, ucontext);
        else
            gp->sigwork = true;
        if (cancelnow(gp) && preemptcancel != NULL)
            preemptcancel(gp);
    }
    errno = saved;
}

/* sysmon. The M's slice is over; the flag is honoured at the next way through the runtime, the signal
 * ends it now. */
void
preemptone(struct p *pp)
{
    struct m *mp = *(struct m *volatile *)&pp->m;
    struct g *gp;

    store_rlx(&pp->preempt, true);
    sched.count.preempts++;
    if (mp == NULL)
        return;
    gp = *(struct g *volatile *)&mp->curg;
    probe2(preempt, pp->id, gp);
    if (gp != NULL)
        gp->sigwork = true;     /* makes its next unpin look; if it has left meanwhile, for nothing */
    if (asyncpreempt && (curg == NULL || curg->m != mp))
        pokem(mp);
}

void
pokem(struct m *mp)
{
    /* One on its way is enough: the handler clears the flag before it looks for whatever we have set. Before active is set
     * nobody would clear it: sysmon is there first. */
    if (!*(volatile int *)&active)
        return;
    if (atomic_exchange(&mp->preempting, true))
        return;
    if (sys3(SYS_tgkill, sys3(SYS_getpid, 0, 0, 0), load_rlx(&mp->tid), SIGURG) < 0)
        atomic_store(&mp->preempting, false);   /* it has ended, or not begun */
}

/* Whoever is not on an M notices when it gets there, or when it parks (prevdone). */
void
pokeg(struct g *gp)
{
    struct m *mp = *(struct m *volatile *)&gp->m;

    if (mp != NULL && *(struct g *volatile *)&mp->curg == gp)
        pokem(mp);
}

void
preemptinit(void)
{
    struct sigaction sa = { .sa_sigaction = onurg, .sa_flags = SA_SIGINFO | SA_RESTART }, older;

    memset(&sa.sa_mask, 0xff, sizeof sa.sa_mask);
    preemptdue = preemptpoint;
    if (nranges == 0)           /* else a forked child, in which the loader's lock may be taken for ever: see tlsreset */
        real.dl_iterate_phdr(addranges, NULL);
    real.sigaction(SIGURG, &sa, &older);
    if (older.sa_sigaction != onurg)    /* ours stays in place in a forked child, which may boot again */
        preemptolder = older;
}

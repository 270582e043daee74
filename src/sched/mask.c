/* Signal masks and alternate stacks of Ms: those of the G that they run, and what an M without a G takes.
 *
 * As long as no G changes its mask, all have the same one, and an idle M may take any signal for the process.
 * After that an idle M must not take what every G blocks. So Ms without a G then block everything, and one
 * thread, the template thread, stands in for them: it takes what any G has open, and hands it to that G.
 *
 * What a G blocks is closed there before its pthread_sigmask returns: even a moment later the default action
 * of a signal that all block might end the process. What a G opens is open in its own M at once; for the
 * time that it is parked sysmon opens it in the template thread, some milliseconds later. So a thread that
 * blocks and unblocks all the time costs the handshake with the template thread a hundred times a second,
 * not each time.
 */
#include "sched/sched.h"
#include <limits.h>

_Atomic uint64_t idlemask;
static _Atomic uint64_t nextmask;       /* what sysmon is about to make it */
_Atomic bool masksused;
_Atomic bool maskstale;
struct m sigm = { .blocked = true };
static struct lock masklock;            /* idlemask, nextmask */
static _Atomic uint32_t maskseq;        /* requests to sigm, and below what it has done */
static _Atomic uint32_t maskdone;

void
setmask(struct m *mp, uint64_t mask)
{
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&mask), 0, 8);
    mp->sigmask = mask;
}

void
idlestate(struct m *mp)
{
    uint64_t mask;

    altoff(mp);
    atomic_thread_fence(memory_order_seq_cst);  /* blocked, then masksused; masksfirst the other way round */
    mask = load_rlx(&masksused) ? G0MASK : load_rlx(&idlemask);
    if (unlikely(mp->putoff != 0)) {
        mp->deferred = false;
        setmask(mp, mask & ~mp->putoff);       /* the trampoline runs in here, and gives them to a G: nobody else can */
    }
    if (unlikely(mp->sigmask != mask))
        setmask(mp, mask);
}

/* In the SIGURG handler of an M without a G: the mask it shall have now; it goes on with it. SIGURG stays
 * blocked until then: a handler inside this one would answer a later request before this one is answered. */
uint64_t
maskpoked(struct m *mp)
{
    uint32_t seq = load_acq(&maskseq);
    uint64_t mask = mp == &sigm && mp->blocked ? load_rlx(&idlemask) : G0MASK;

    setmask(mp, mask | UINT64_C(1) << (SIGURG - 1));
    mp->sigmask = mask;
    if (mp == &sigm) {
        store_rel(&maskdone, seq);
        futex_wake(&maskdone, INT_MAX);
    }
    return mask;
}

/* gp's mask is new, in the kernel too. Pinned. */
void
maskchanged(const struct g *gp)
{
    uint64_t new = gp->sigmask;

    atomic_thread_fence(memory_order_seq_cst);  /* the G's mask, then nextmask; maskrelax the other way round */
    if (~new & load_rlx(&idlemask))
        store_rlx(&maskstale, true);
    if (likely((new & ~(load_rlx(&idlemask) & load_rlx(&nextmask))) == 0))
        return;
    lock(&masklock);
    store_rlx(&idlemask, load_rlx(&idlemask) | new);
    store_rlx(&nextmask, load_rlx(&idlemask));
    unlock(&masklock);
    masksync();
    store_rlx(&maskstale, true);        /* others may have it open */
}

/* What every G without an M blocks; *on: those with one, whose M takes what they have open itself, and in the
 * order in which it was sent. */
static uint64_t
allblock(uint64_t *on)
{
    uint64_t off = G0MASK;      /* whoever it is, SIGURG and libc's stay open */

    *on = off;
    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink) {
        uint32_t status = load_rlx(&gp->status);
        uint64_t mask = *(volatile uint64_t *)&gp->sigmask;

        if (status == Grunning || status == Gsyscall)
            *on &= mask;
        else if (status != Gdead && status != Gidle)    /* the latter: it is being made, and has no mask yet */
            off &= mask;
    }
    return off;
}

/* sysmon: brings idlemask up to what every G blocks. A G that blocks more while we look sees nextmask, or we
 * see its mask when we look again; template thread sees neither before it is certain. */
void
maskrelax(int64_t now)
{
    static int64_t next;
    uint64_t on, off, on2, off2, before = load_rlx(&idlemask);
    int64_t took;

    if (likely(!load_rlx(&maskstale)) || now < next)
        return;
    store_rlx(&maskstale, false);
    lock(&masklock);
    off = allblock(&on);
    store_rlx(&nextmask, off);
    atomic_thread_fence(memory_order_seq_cst);
    off2 = allblock(&on2);
    store_rlx(&idlemask, off | off2);
    store_rlx(&nextmask, load_rlx(&idlemask));
    unlock(&masklock);
    if (load_rlx(&idlemask) != before)
        pokem(&sigm);
    if (~(on & on2 & off & off2) & load_rlx(&idlemask))
        store_rlx(&maskstale, true);    /* who ran has parked by now, or will: then we stand in for him */
    took = nanotime() - now;
    next = now + (took * 20 > 10000000 ? took * 20 : 10000000);
}

void
masksync(void)
{
    uint32_t seq, done;

    seq = atomic_fetch_add(&maskseq, 1) + 1;
    pokem(&sigm);
    while ((int32_t)((done = load_acq(&maskdone)) - seq) < 0)
        futex_wait(&maskdone, done, 0);
}

void
masksfirst(void)
{
    if (atomic_exchange(&masksused, true))
        return;
    masksync();
    for (struct m *mp = load_acq(&sched.allms); mp != NULL; mp = mp->alllink)
        for (int i = 0; i < 1000 && *(volatile bool *)&mp->blocked &&
                        *(volatile uint64_t *)&mp->sigmask != G0MASK; i++) {
            if (i % 100 == 0)
                pokem(mp);
            sys_sleep(20000);   /* asleep or about to wake; awake, it looks for itself */
        }
}

void
maskinit(uint64_t mask)
{
    store_rlx(&idlemask, mask);
    store_rlx(&nextmask, mask);
}

void
maskreset(void)
{
    store_rlx(&masklock.key, 0);
    store_rlx(&maskstale, false);
    maskinit(0);
}

/* The template thread has done its work, during which it blocks all: signals may come to it again. With
 * SIGURG blocked too, a change of main's mask is answered before we look at it or after we have set it. */
void
sigmopen(void)
{
    setmask(&sigm, G0MASK | UINT64_C(1) << (SIGURG - 1));
    sigm.blocked = true;
    sigm.deferred = false;
    setmask(&sigm, load_rlx(&masksused) ? load_rlx(&idlemask) : G0MASK);
}

/* ---- what the kernel keeps per thread and we per G ---- */

_Atomic bool altstacks;

void
altoff(struct m *mp)
{
    stack_t off = { .ss_flags = SS_DISABLE };

    if (mp->altsp == NULL)
        return;
    sys3(SYS_sigaltstack, A(&off), 0, 0);
    mp->altsp = NULL;
}

void
kernelstate(struct m *mp, struct g *gp)
{
    if (gp->altstack.ss_sp == NULL) {
        altoff(mp);
    } else if (gp->altstack.ss_sp != mp->altsp) {
        sys3(SYS_sigaltstack, A(&gp->altstack), 0, 0);
        mp->altsp = gp->altstack.ss_sp;
    }
    if (gp->sigmask != mp->sigmask) {
        sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
        mp->sigmask = gp->sigmask;
    }
}

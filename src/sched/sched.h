/* sched: who runs where. Calls down to event, base and arch only.
 *
 * Words used of a function: "parks" may come back on another M, so no mp or pp is held across it;
 * "g0" runs on the scheduling context; "hook" may call malloc and is only for hooks.
 * While g->locks > 0 the G is in the runtime: its M keeps its P, and signal handlers of the program wait.
 * g0 is always in the runtime, except asleep (m->blocked).
 */
#ifndef GOSSAMER_SCHED_H
#define GOSSAMER_SCHED_H

#include "base/base.h"
#include "event/event.h"

extern struct sched sched;
extern struct p allp[MAXPROCS];
extern int gomaxprocs;
extern struct m m0;

/* Passive until the first pthread_create, and again in a forked child. */
extern int active;

/* On the kernel threads that we made: their M. NULL elsewhere. */
extern _Thread_local struct m *curm;
/* What the owner fields of mutexes hold for this thread; 0 until a foreign thread needs it. */
extern _Thread_local int curtid;

/* Microseconds: a G that parks so soon after it made another ready hands over to it; see proc.c. */
enum { QUICKUS = 5 };

/* ---- boot.c ---- */

/* hook. Starts the runtime with the calling thread as main G. 0, or -1 after a line on stderr that
 * the program goes on with native threads. */
int boot(void);
void bootchild(void);           /* in the child of fork: passive again */
extern bool bootfiltered;       /* a seccomp filter was in force when the program started */
void bootrefuse(void);          /* never start (GOSSAMER_DISABLE) */

/* ---- proc.c ---- */

uint32_t gopark(struct g *gp, enum waitreason why);     /* parks until claimed; the enum wake */
void gosched(struct g *gp);                             /* parks: the others first */
_Noreturn void goleave(struct g *gp, void (*fn)(struct m *, struct g *)); /* never back; then fn */
void goready(struct g *gp);                             /* from a G or a foreign thread */
void readylist(struct glist *list);                     /* the same for many */
void ready(struct m *mp, struct g *gp);                 /* in the runtime, mp has a P */
void regain(struct g *gp);                              /* in the runtime; parks: sysmon took the P, get one again */
void injectglist(struct glist *list);                   /* from anywhere; no P needed */
void newproc(struct g *parent, struct g *gp);           /* a new G is runnable */
int64_t newgoid(struct p *pp);                          /* in the runtime */
bool lastg(struct g *gp);                               /* gp ends; true: no other G is left, main neither */
void schedule(struct m *mp);                            /* g0; returns when the M is to end */
struct g *findrunnable(struct m *mp, bool *inherit);    /* g0; findrunnable.c */
void wakep(void);
void prevdone(struct m *mp);
void preemptpoint(struct g *gp);

static inline struct g *
getg(void)
{
    struct g *gp = curg;

    return likely(gp != NULL) && likely(!gp->insys) ? gp : NULL;
}

/* Enter and leave the runtime: pinned, and with a P. */
static inline struct m *
acquirem(struct g *gp)
{
    struct m *mp;

    gp->locks++;
    compiler_barrier();         /* pairs with sysmon's membarrier between asking and looking */
    mp = gp->m;
    if (likely(load_rlx(&mp->lostp) == LostNo))
        return mp;
    regain(gp);
    return gp->m;
}

static inline void
releasem(struct g *gp)
{
    unpin(gp);
}

/* ---- runq.c ---- */

void runqput(struct p *pp, struct g *gp, bool next);    /* the P's M */
struct g *runqget(struct p *pp, bool *inherit);         /* the P's M */
bool runqempty(struct p *pp);                           /* anybody */
struct g *runqsteal(struct p *pp, struct p *from, bool stealnext);
void globrunqput(struct g *gp);                         /* sched.lock held */
void globrunqputlast(struct g *gp);                     /* sched.lock held; behind those that were woken */
void globrunqputlist(struct glist *list);               /* sched.lock held */
struct g *globrunqget(struct p *pp, int max);           /* sched.lock held */
int globwoken(void);                                    /* so many of the global queue were woken; a guess without the lock */

/* ---- m.c ---- */

/* What an M that runs no G blocks, once masks are used: all but SIGURG, libc's two and faults. */
#define G0MASK (~(UINT64_C(3) << 31 | UINT64_C(1) << (SIGURG - 1) | UINT64_C(1) << (SIGSEGV - 1) | \
                  UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGILL - 1) | \
                  UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSYS - 1)))

extern int maxms;                                       /* Ms at most */
void startm(struct p *pp, bool spinning);
bool havespare(struct g *gp);
void stopm(struct m *mp);                               /* g0, no P */
void msleep(struct m *mp);                              /* g0: until somebody wakes mp->park */
void handoffp(struct p *pp);
void acquirep(struct m *mp, struct p *pp);
bool takeidlep(struct m *mp);                           /* pinned or g0 */
struct p *releasep(struct m *mp);
void pidleput(struct p *pp);                            /* sched.lock held */
struct p *pidleget(void);                               /* sched.lock held */
void *mstart(void *arg);
void *templateloop(void *unused);
void stoplockedm(struct m *mp);                         /* g0 */
void startlockedm(struct m *mp, struct g *gp);          /* g0 */
void mexit(struct m *mp);                               /* g0; m0's does not return */
int mclone(struct g *gp);                               /* hook; an M for gp, made from the calling one; 0 or -EAGAIN */
void lockOSThread(struct g *gp, enum gossamer_lock why);
void unlockOSThread(struct g *gp);
void lockforgood(struct g *gp, enum gossamer_lock why);                         /* it changes what the kernel keeps per thread */

/* ---- mask.c ---- */

void idlestate(struct m *mp);                           /* g0, about to sleep: signal mask, deferred signals */
void setmask(struct m *mp, uint64_t mask);              /* of the calling kernel thread */
extern _Atomic uint64_t idlemask;                       /* what every G blocks, or more: maskstale */
extern _Atomic bool maskstale;
extern _Atomic bool masksused;                          /* some G has changed its mask: see m.c */
extern struct m sigm;                                   /* the template thread, which takes signals for idle Ms */
void masksfirst(void);                                  /* pinned; a mask changes for the first time */
uint64_t maskpoked(struct m *mp);                       /* in a signal handler of an M without a G */
void maskchanged(const struct g *gp);                   /* pinned; gp has another mask */
void maskrelax(int64_t now);                            /* sysmon */
void sigmopen(void);                                    /* the template thread, before it sleeps */
void maskinit(uint64_t mask);
void maskreset(void);                                   /* in a forked child */
void masksync(void);                                    /* pinned; waits until idlemask is in force */
extern _Atomic bool altstacks;                          /* some handler that may run on g0 wants an alternate stack */
void altoff(struct m *mp);                              /* the M without its G's alternate stack */
void kernelstate(struct m *mp, struct g *gp);           /* mask and alternate stack of gp */

/* ---- syscall.c ---- */

/* Around a system call that may block: the P may go to another M meanwhile. Between them, no call
 * of the runtime and none that could get into one (malloc, stdio). exitsyscall parks. */
void entersyscall(struct g *gp);
void entersyscallblock(struct g *gp);                   /* it will block: others first */
void exitsyscall(struct g *gp);

/* ---- hogs.c ---- */

extern _Atomic bool hogs;                               /* every P computes: wake-ups preempt */
static inline bool
globalturn(struct p *pp)
{
    return pp->tick % 61 == 0 || (unlikely(load_rlx(&hogs)) && pp->tick % 2 == 0);
}

void hoglater(void);                                    /* one of them still waits */
void hogyield(struct m *mp);                             /* the M's G, pinned */
void hogpreempt(int n);                                 /* n Gs have been put into the global queue */
void hoglook(int64_t now);                              /* sysmon */
void hogsleep(int64_t delay);                           /* sysmon */

/* ---- cputime.c ---- */

int64_t cputime(struct g *gp);                          /* ns of CPU that gp has had */
void cpusample(int64_t now);                            /* sysmon */
void cpureset(struct g *gp, int64_t ns);
void cpuon(struct g *gp);                               /* g->cpuclock: it is switched in */
void cpuoff(struct g *gp);                              /* out */

/* ---- sysmon.c ---- */

void *sysmon(void *unused);
extern _Atomic int sysmontid;                           /* kernel thread id */
void sysmonwake(void);                                  /* sched.lock held */
extern bool (*whenidle)(void);                          /* sysmon, when every P has been idle for a while */

/* ---- preempt.c ---- */

extern bool asyncpreempt;                               /* GODEBUG=asyncpreemptoff=1 clears it */
extern void (*preemptother)(int, siginfo_t *, void *);  /* for a SIGURG that is not ours */
extern struct sigaction preemptolder;
void preemptinit(void);
bool untouchable(struct g *gp, const void *ucontext);   /* the interrupted code must not be left half done */
bool runtimecode(const void *ucontext);                   /* interrupted in this library */
bool breakcall(void *ucontext);                         /* of a handler: the call that it interrupted ends, if it is io_syscall's */
void preemptone(struct p *pp);                          /* sysmon */
void pokem(struct m *mp);
void pokeg(struct g *gp);                               /* it has signals or was cancelled */
extern void (*preemptcancel)(struct g *gp);             /* asynchronous cancellation; may not return */

/* ---- gfree.c ---- */

void gfput(struct m *mp, struct g *gp);
struct g *gfget(struct m *mp, int class);
void gfscavenge(struct p *pp);                          /* g0 on pp; or pp is idle, sched.lock held */
void allgadd(struct g *gp);

/* ---- scavenge.c: sysmon ---- */

void scavenge(int64_t now);
int64_t scavengein(void);                               /* sched.lock held */
extern int64_t idlems, idlestacks;                      /* ns after which an idle M, a free stack, is given back */

/* ---- tls.c ---- */

const char *tlsinit(void);                              /* what is missing in this libc, or NULL */
const char *tlstemplate(char *lo, size_t size);
void rsequnregister(void);
size_t tlsextra(void);
struct g *tlsnew(const struct slot *slot, int tid);     /* hook; NULL: no memory */
void tlsrenew(struct g *gp, int tid);                   /* hook */
bool tlscancelable(const struct g *gp);
void tlscancel(struct g *gp);
bool tlsasync(const struct g *gp);

/* gp was cancelled and may act on it: it has not disabled it, and is not about to end already. */
static inline bool
cancelnow(const struct g *gp)
{
    return unlikely(load_rlx(&gp->canceled)) && !gp->raw && tlscancelable(gp);
}

char *tlsforeignblock(struct g *gp);                    /* the thread pointer of a block that no G uses */
void tlsforeign(void);                                  /* on the foreign thread that has it */
void tlsborrow(struct g *gp, int tid);                  /* for mutexes that the kernel knows the owner of */
void tlsreturn(struct g *gp);
void tlsownerdies(struct g *gp);
char *tlsrobust(void);                                  /* the calling kernel thread's robust list */
extern int passiveheld;                                 /* mutexes of the kernel's kind, held at boot by main */
void tlsstack(struct g *gp);
void tlsstart(void);                                    /* first thing a new G does */
void tlsexit(struct g *gp);                             /* on the G, which may park in it */
void tlssetxid(void);                                   /* at boot */
void tlsreset(void);                                    /* in a forked child */
uint64_t tlsstale(void);
void tlsloading(int n);                                 /* hook: 1 before the call, -1 behind it */
void tlschanged(uint64_t before);                        /* hook */
bool tlsmainexit(void (*to)(void));
/* glibc's, without a declaration when compiled with -fexceptions: the list of cleanup buffers. */
#ifdef __EXCEPTIONS
void __pthread_register_cancel(__pthread_unwind_buf_t *buf);
void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf);
#endif
struct g *gof(pthread_t th);                            /* NULL: not a G */

/* ---- trace.c ---- */

void schedtrace(bool detailed);
const char *waitname(unsigned why);

#endif

/* The structures of the scheduler: G (a thread of the program), M (a kernel thread), P (the right to
 * run Gs), and what hangs off them. Each field says who may write it. No functions here.
 *
 * Words for the owners: "the G" is whoever runs as that G; "its M" the kernel thread that runs or
 * switches it; "the P's M" the M that holds the P; sched.lock and the like are locks. A field without
 * _Atomic is only touched by its owner, or handed over with the switch or lock that its comment names.
 */
#ifndef GOSSAMER_TYPES_H
#define GOSSAMER_TYPES_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gossamer.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define compiler_barrier() __asm__ volatile("" ::: "memory")

#define load_rlx(p) atomic_load_explicit(p, memory_order_relaxed)
#define load_acq(p) atomic_load_explicit(p, memory_order_acquire)
#define store_rlx(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define store_rel(p, v) atomic_store_explicit(p, v, memory_order_release)

enum { MAXPROCS = 256, RUNQSIZE = 256, MAXMS = 10000, MAXCLASSES = 64, CACHELINE = 64 };

/* Runtime lock: 0 free, 1 held. See base/lock.c. */
struct lock {
    _Atomic uint32_t key;
};

/* One-shot event for a kernel thread: 0 until notewakeup. See base/lock.c. */
struct note {
    _Atomic uint32_t key;
};

enum gstatus { Gidle, Grunnable, Grunning, Gsyscall, Gwaiting, Gdead };

/* g->wake, the one word in which competing wakers meet. The G arms it before it shows itself to any
 * waker; whoever moves it from Armed or Parked to a reason (gclaim) owns the wake-up, everybody else
 * has lost. Parked says that the G has left its stack, so that the winner must make it runnable. */
enum wake {
    WakeNone,
    WakeArmed,
    WakeParked,
    WakeUnpark,                 /* what it waited for happened */
    WakeTimeout,                /* its timer fired */
    WakeClose,                  /* its fd was closed */
    WakeSignal,                 /* a signal handler is to run */
    WakeCancel,                 /* pthread_cancel */
};

enum waitreason {
    WaitNone, WaitMutex, WaitCond, WaitRwlock, WaitSem, WaitBarrier, WaitOnce, WaitJoin, WaitFutex,
    WaitSleep, WaitRead, WaitWrite, WaitPoll, WaitPause,
    WaitEnded,                  /* it has ended; nothing but a joiner comes */
};

/* A timer in some P's heap. `i` is its place there plus one, 0 while it is in none; both fields
 * change under that heap's lock. */
struct timer {
    int64_t when;               /* CLOCK_MONOTONIC, ns */
    struct g *gp;               /* claimed with WakeTimeout */
    struct p *_Atomic pp;
    uint32_t i;
};

/* A slot of a slab: guard, stack, thread block. Never unmapped; its class says where it is kept. */
struct slot {
    char *base;
    size_t size;                /* guard and thread block included */
    size_t guard;               /* bytes of guard at its bottom */
    int class;
};

struct g {
    /* what a switch touches */
    void *sp;                   /* saved context; its M, while leaving it */
    char *tp;                   /* thread pointer; fixed for the life of the block */
    struct m *m;                /* the M that runs it; set by execute, valid while it runs */
    _Atomic uint32_t wake;      /* enum wake */
    _Atomic uint32_t status;    /* enum gstatus; for trace and inspector, decides nothing */
    uint64_t sigmask;           /* the G's signal mask; the G */
    struct g *schedlink;        /* next in whichever list holds it: global queue, free list, glist */
    struct m *lockedm;          /* the M it is locked to; the G */
    uint32_t locked;            /* how many times it asked for that; the G */
    int locks;                  /* > 0: in the runtime; the G (its signal handlers and sysmon read) */
    bool affine;                /* locked for good: it changed state of its kernel thread; the G */
    bool insys;                 /* between entersyscall and exitsyscall; the G */
    _Atomic bool canceled;      /* pthread_cancel was called for it */
    bool sigwork;               /* signals are queued for it that it does not block; senders set, the G clears */
    bool hogging;               /* was preempted since it last parked; the G */
    bool wasready;              /* it made another G ready since it was last switched in; the G */
    uint8_t quick;              /* 0..3: how surely it parks soon after making one ready; the G */
    uint8_t waitreason;
    uint64_t readytick;         /* cycle counter when it did; the G */
    uint64_t mutextick;         /* when it last woke a waiter of a mutex; the G */
    uint64_t runs;              /* how often it was switched in; its M */
    uint64_t waiton;            /* what it waits for, for the inspector: enum gossamer_waiton; the G */
    int64_t waitsince;          /* sched.now when it parked, or entered a system call; the G */

    /* identity and life */
    int64_t goid;
    int tid;                    /* what gettid() says */
    struct slot slot;           /* holds the thread block, and the stack unless ownstack */
    char *stklo, *stkhi;        /* the stack in use */
    size_t stksize;             /* as the program asked for it */
    size_t guardsize;
    struct timer timer;
    stack_t altstack;           /* sigaltstack; the G */
    struct sigentry *sigq;      /* signals for this G; wait/sigqueue.c, siglock */
    _Atomic uint64_t sigpend;   /* which; siglock, read by the G */
    uint64_t sigwait;           /* it is in sigwait for these; the G under siglock */
    bool cpuclock;              /* its CPU time is measured at each switch: sched/cputime.c; anybody sets */
    bool nopreempt;             /* a handler runs over code that must not be left half done; the G */
    bool urgblocked;            /* the program blocks SIGURG, which the kernel's mask never has; the G */
    bool masked;                /* in a call with a signal mask of its own: a handler that ran ends it; the G */
    bool showing;               /* in a call that looks at signalfds: what is sent to it breaks that off; the G under siglock */
    bool raw;                   /* in syscall(2), which is no cancellation point; the G */
    bool sigdead;               /* it ends, and takes no signal any more; siglock */
    bool delivering;            /* in signal_deliver's loop, which will look again: a SIGURG need not; the G */
    bool sigsent;               /* the signal that it sends itself is under way: its siginfo follows; the G */
    struct sigmoved *moved;     /* in such a call, on its stack: what it has made pending for its M, to which it is locked; the G */
    uint64_t sent[6];           /* as much of it as the kernel keeps */
    bool sigran;                /* a handler has run; the G's handlers set, its waits clear */
    bool sigintr;               /* one of them without SA_RESTART; likewise */
    bool specused;              /* pthread_setspecific was called; the G */
    bool ismain;
    bool ownstack;              /* runs on a stack the program gave */
    _Atomic uint32_t joinstate; /* enum joinstate; joiners park on it */
    struct g *_Atomic joining;  /* whom it is joining; the G */
    void *(*start)(void *);
    void *arg;
    void *retval;
    struct g *alllink;          /* allgs; fixed after it is published */
    uint64_t tlsgen;            /* of the TLS module list its block was last reset for */
    char name[16];              /* pthread_setname_np */
    _Atomic int64_t cpubase;    /* its M's CPU clock when it was switched in, 0: not measured; its M */
    _Atomic int64_t cpuexact;   /* ns measured; its M */
    _Atomic int64_t cpusampled; /* ns sampled; sysmon */
    struct kattr *kattr;        /* scheduling attributes that it is yet to take on; wait/kattr.c, klock */
};

/* Who gives a finished G back. Finished is or'ed in once nobody stands on its stack: whoever then finds
 * it Joinable and takes it (a joiner, pthread_detach), was already Joining, or finds it Detached, owns it. */
enum joinstate { Joinable, Detached, Joining, Finished = 4 };

/* What is to be done with the context that was just left, once nobody stands on its stack. */
enum prevop { PrevNone, PrevPark, PrevYield, PrevPreempt, PrevGlobal, PrevCall };

/* m->lostp: the handshake by which sysmon takes the P from an M asleep in the kernel without having
 * announced it. See sched/sysmon.c. */
enum lostp { LostNo, LostAsked, LostTaken };

struct m {
    /* g0: the context that schedules. Its stack and thread block are those of the kernel thread,
     * except for m0, whose kernel thread's own belong to the main G. */
    void *g0sp;
    char *g0tp;
    char *robust;               /* the kernel thread's own robust list head; its M at start */
    struct g *curg;             /* its M */
    struct p *p;                /* its M; NULL in a system call or when it has none */
    struct p *oldp;             /* P it had when it entered the system call */
    _Atomic uint32_t lostp;     /* enum lostp; sysmon asks, takes or withdraws, the M clears Taken */
    enum prevop prevop;         /* what to do with prev; set before a switch, done right after it */
    struct g *prev;
    void (*prevfn)(struct m *, struct g *); /* for PrevCall */
    uint64_t sigmask;           /* the kernel's mask of this thread, as we last set it */
    void *altsp;                /* ss_sp of the kernel's alternate stack of this thread */

    struct p *nextp;            /* P to start with; whoever wakes it, before notewakeup; of one in sched.coming under sched.lock */
    struct m *comelink;         /* sched.coming; sched.lock */
    struct g *lockedg;          /* G locked to it; that G */
    bool dying;                 /* it is to end: its affine G has, or scavenge.c took it from the idle list */
    bool spinning;              /* its M; startm for a sleeping one */
    bool blocked;               /* asleep on g0 with nothing held; its M and its signal handlers */
    _Atomic bool preempting;    /* SIGURG is on its way; sysmon sets, its M clears */
    volatile bool deferred;     /* a signal was put off until the G's locks is 0; its M */
    uint64_t putoff;            /* which have not come again yet: pending for its kernel thread alone; its M */
    uint32_t rnd;
    struct note park;
    struct m *schedlink;        /* idle list; sched.lock */
    struct m *alllink;
    int id;
    _Atomic int tid;            /* kernel thread id */
    pthread_t thread;
    _Atomic int64_t cpuseen;    /* its CPU clock, and its P's schedtick, when it was sampled last; sysmon */
    _Atomic uint32_t cputick;
    struct gossamer_counters count;     /* its M */
};

struct timers {
    struct lock lock;
    _Atomic int64_t when0;      /* earliest `when`, 0 if none; written under lock, read by all */
    struct timer **heap;        /* under lock */
    uint32_t n, cap;
};

struct p {
    int id;
    _Atomic uint32_t status;    /* enum pstatus */
    struct m *m;                /* the M that holds it; that M, or sched.lock while idle */
    struct p *link;             /* idle list; sched.lock */

    _Atomic uint32_t schedtick; /* time slices begun; its M */
    _Atomic uint32_t syscalltick;
    uint32_t tick;              /* rounds of schedule; its M */
    _Atomic bool global;        /* it is the global queue's turn; its M, and hogpreempt */
    bool tookglobal;            /* its last G came from there by turn: now its own have theirs; its M */
    uint8_t dull;               /* 0..DULL: how surely a look at the network finds nothing; its M */
    _Atomic uint64_t slicestart; /* cycle counter when its slice began, or earlier, while there are no hogs; its M */
    _Atomic bool scavenge;      /* dead Gs that were not needed are to be given back; sysmon sets, its M does it */
    _Atomic bool preempt;       /* sysmon: this slice is over, go on with another G */
    struct {
        uint32_t schedtick, syscalltick, tick;
        int64_t schedwhen, syscallwhen, looked;
    } sysmontick;               /* sysmon only */

    struct g *gfree;            /* dead Gs with their stacks; the P's M */
    int ngfree, gfreemin;       /* and the least since scavenge.c last looked; the P's M */
    int64_t goid, goidend;      /* ids for new Gs, taken 64 at a time; the P's M */
    _Atomic int64_t ngs;        /* Gs begun minus Gs ended here; the P's M writes, the sum is what lives */

    /* local run queue: see runq.c */
    _Alignas(CACHELINE) _Atomic uint32_t runqhead; /* owner and thieves, by CAS */
    _Atomic uint32_t runqtail;  /* the owner only; thieves read */
    struct g *_Atomic runnext;  /* owner sets; thieves may CAS it to NULL */
    struct g *_Atomic runq[RUNQSIZE];

    _Alignas(CACHELINE) struct timers timers;
};

enum pstatus { Pidle, Prunning, Psyscall, Pdead };

struct glist {
    struct g *head, *tail;
    int n;
};

struct sched {
    _Alignas(CACHELINE) struct lock lock;
    struct glist runq, woken;           /* the global queue: see globpop; under lock */
    uint64_t lastturn;                  /* of one of runq, in ticks; under lock */
    _Atomic int32_t runqsize;           /* written under lock, read by all */
    struct m *midle;                    /* under lock */
    struct m *mdead;                    /* could not be started; under lock */
    int nmidle, mnext;                  /* under lock */
    int minidle;                        /* fewest idle since scavenge.c last looked; under lock */
    int settled;                        /* so many idle Ms are left alone; under lock */
    struct p *pidle;                    /* under lock */
    _Alignas(CACHELINE) _Atomic int32_t npidle; /* written under lock */
    _Atomic int32_t nmspinning;
    _Atomic uint32_t needspinning;
    _Alignas(CACHELINE) _Atomic int64_t lastpoll; /* time of the last network poll, 0 while one M blocks there */
    _Atomic int64_t polluntil;          /* when that M wakes by itself, 0 for never */
    _Atomic uint32_t sysmonwait;        /* sysmon sleeps on sysmonnote; under lock */
    struct note sysmonnote;
    _Alignas(CACHELINE) _Atomic int64_t now;    /* sysmon's last look at the clock; and who ends its sleep */
    struct gossamer_counters count;     /* sysmon; scavenged: under gflock */

    struct m *newm;                     /* Ms that the template thread is to start; under lock */
    struct m *coming;                   /* those that are to begin with a P and have not begun; under lock */
    struct note newmnote;
    _Atomic bool sweepdue;      /* it is time for netpollsweep; sysmon sets, an M with a P does it */
    bool needspare;             /* no idle M is left: make one ahead; under lock */

    struct lock gflock;
    struct g *gfree[MAXCLASSES];        /* dead Gs by class of their slot; gflock */

    struct lock alllock;                /* allgs, allms */
    struct g *_Atomic allgs;
    struct m *_Atomic allms;
    _Atomic int64_t goidgen;
    _Atomic bool mainexited;            /* main called pthread_exit */
    int64_t boottime;
};

#endif

/* What libgossamer.so shows of itself to those who look from outside: `gossamer ps`, debuggers, monitors.
 *
 * The library exports one variable, gossamer_layout, of the type below. It says where the structures of the
 * runtime are and at which offsets in them the fields stand that are worth reading, as libc does for
 * libthread_db. A reader finds the symbol in the .dynsym of the mapped library, reads the variable from the
 * process's memory (process_vm_readv, ptrace, a core file), compares magic and version, and then follows
 * the addresses. Nothing has to run in the process, which may be hung or dead.
 *
 * Nothing is locked for a reader: what it sees may be half changed. Lists of Gs and Ms only grow, and
 * their members are never freed; g.runs tells whether a G has run between two looks.
 *
 * GOSSAMER_LAYOUT_VERSION changes when a reader of the old one would misread the new one.
 */
#ifndef GOSSAMER_H
#define GOSSAMER_H

#include <stdint.h>

#define GOSSAMER_LAYOUT_SYMBOL "gossamer_layout"
#define GOSSAMER_LAYOUT_MAGIC "gossamer"        /* 8 bytes, without the final 0 */
#define GOSSAMER_LAYOUT_VERSION 2

/* g.status */
enum gossamer_status {
    GOSSAMER_IDLE,
    GOSSAMER_RUNNABLE,          /* in a run queue */
    GOSSAMER_RUNNING,           /* on g.m, which has a P, or lost it to sysmon (m.lostp is 2) */
    GOSSAMER_SYSCALL,           /* on g.m, in a system call that was announced */
    GOSSAMER_WAITING,           /* parked: g.waitreason, g.waiton, g.waitsince */
    GOSSAMER_DEAD,              /* finished and joined; kept for the next thread */
};

/* What g.waiton is, by reason. */
enum gossamer_waiton {
    GOSSAMER_ON_NOTHING,
    GOSSAMER_ON_ADDRESS,        /* a waiter, whose `addr` is the object */
    GOSSAMER_ON_MUTEX,          /* likewise, a pthread_mutex_t: its owner's tid is at mutexowner */
    GOSSAMER_ON_JOIN,           /* g.joining */
    GOSSAMER_ON_FD,             /* an fd, and how many more in the upper 32 bits */
    GOSSAMER_ON_TIMER,          /* g.timerwhen */
    GOSSAMER_ON_END,            /* nothing: it has ended and waits to be joined; what is on its stack is stale */
};

/* What has happened since the first thread. Each M counts for itself, sysmon and whoever holds the
 * scheduler's lock in sched; a reader adds them all up. */
struct gossamer_counters {
    uint64_t switches;          /* a G was switched in */
    uint64_t steals;            /* an M found its next G in another P's queue */
    uint64_t handoffs;          /* a P went from an M in an announced system call to another M */
    uint64_t unannounced;       /* a P was taken from an M asleep in a call that was not announced */
    uint64_t preempts;          /* sysmon ended a slice */
    uint64_t preempted;         /* a G yielded for that */
    uint64_t deferred;          /* the signal came over code that must not be left half done */
    uint64_t pollwakes;         /* Gs that the network poller made ready */
    uint64_t rescued;           /* Gs whose edge was lost and found again by sysmon */
    uint64_t msmade, msended;   /* kernel threads started for Gs, and ended */
    uint64_t scavenged;         /* free stacks whose pages were given back */
    uint64_t locks[8];          /* Gs that were locked to their M, by enum gossamer_lock; mutexes: each time */
};

/* Why a G was locked to its M: what it changed or holds is the kernel thread's. */
enum gossamer_lock {
    GOSSAMER_LOCK_SCHEDULING,   /* affinity, policy, priority, nice value */
    GOSSAMER_LOCK_NAMESPACE,    /* unshare, setns */
    GOSSAMER_LOCK_CREDENTIALS,  /* setfsuid, setfsgid, capset */
    GOSSAMER_LOCK_PRCTL,
    GOSSAMER_LOCK_SYSCALL,      /* another of these by syscall(2) */
    GOSSAMER_LOCK_TIMER,        /* a timer on its own CPU clock */
    GOSSAMER_LOCK_TRACE,        /* it forks in a program that uses ptrace */
    GOSSAMER_LOCK_MUTEX,        /* it holds a robust or priority mutex, or reads a signalfd; not for good */
};

/* A reason to wait: Go's word for it (the pthread's where Go has none), and what g.waiton is then. */
struct gossamer_wait {
    char name[28];
    uint32_t on;                /* enum gossamer_waiton */
};

struct gossamer_layout {
    char magic[8];
    uint32_t version;
    uint32_t size;              /* of this structure */

    struct {                    /* addresses */
        const void *active;     /* int; 0: passive, none of the rest is meaningful */
        const void *gomaxprocs; /* int */
        const void *sched;
        const void *allp;       /* gomaxprocs structures of p.size bytes */
    } at;

    /* Offsets. Fields are pointers unless their comment says otherwise. */
    struct {
        uint32_t size;
        uint32_t alllink;       /* next in sched.allgs */
        uint32_t sp;            /* where its context is saved while it does not run: see context */
        uint32_t m;             /* valid while it runs or is in a system call */
        uint32_t lockedm;
        uint32_t start;         /* its start routine; NULL: main */
        uint32_t joining;
        uint32_t stklo, stkhi;  /* its stack; NULL: main's */
        uint32_t goid;          /* int64_t */
        uint32_t tid;           /* int; what gettid() says in it */
        uint32_t status;        /* uint32_t, enum gossamer_status */
        uint32_t waitreason;    /* uint8_t, index into waits */
        uint32_t waiton;        /* uint64_t */
        uint32_t waitsince;     /* int64_t, CLOCK_MONOTONIC in ns, to about 10 ms: when it parked or entered a system call */
        uint32_t timerwhen;     /* int64_t, CLOCK_MONOTONIC in ns */
        uint32_t runs;          /* uint64_t; how often it was switched in */
        uint32_t cpusampled, cpuexact;  /* int64_t, ns; their sum is its CPU time, to some milliseconds */
        uint32_t name;          /* char[16]; empty: the process's */
    } g;
    struct {
        uint32_t addr;
        uint32_t requeued;      /* bool: moved from a condition variable to its mutex */
    } waiter;
    struct {
        uint32_t size;
        uint32_t alllink;       /* next in sched.allms */
        uint32_t link;          /* next in sched.midle, sched.mdead */
        uint32_t curg;
        uint32_t p, oldp;       /* the P it has; the one it had before the system call */
        uint32_t lockedg;
        uint32_t id;            /* int */
        uint32_t tid;           /* int; of the kernel thread; 0: not started yet */
        uint32_t lostp;         /* uint32_t; 2: sysmon has taken its P */
        uint32_t spinning;      /* bool */
        uint32_t counters;      /* struct gossamer_counters */
    } m;
    struct {
        uint32_t size;
        uint32_t m;
        uint32_t id;            /* int */
        uint32_t status;        /* uint32_t: 0 idle, 1 running, 2 lent to a system call */
        uint32_t runqhead, runqtail;    /* uint32_t; the difference is the length */
        uint32_t runnext;
        uint32_t ngfree;        /* int; dead Gs kept */
        uint32_t ntimers;       /* uint32_t */
    } p;
    struct {
        uint32_t allgs, allms;  /* heads of the lists */
        uint32_t midle, mdead;  /* Ms without work, Ms without a kernel thread */
        uint32_t runqsize;      /* int32_t; the global queue */
        uint32_t nmspinning;    /* int32_t */
        uint32_t boottime;      /* int64_t, CLOCK_MONOTONIC in ns */
        uint32_t now;           /* int64_t; the clock that waitsince is taken from */
        uint32_t counters;      /* struct gossamer_counters: sysmon's */
    } sched;
    uint32_t mutexowner;        /* in a pthread_mutex_t; int, a tid */

    /* A saved context: offsets from g.sp of the callee-saved registers and of the address to go on at, and
     * what the stack pointer is there, as an offset from g.sp. */
    struct {
        uint32_t rbx, rbp, r12, r13, r14, r15, rip;
        uint32_t rsp;
    } context;

    struct gossamer_wait waits[32];
};

#endif

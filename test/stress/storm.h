/* What the files of the storm share: see storm.c. */
#ifndef STORM_H
#define STORM_H
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The real-time signals, each counted: what was sent must arrive, once. */
enum rt {
    RtHandler,                  /* to a thread, pthread_sigqueue; handled, in the order of each sender */
    RtWait,                     /* to a thread; sigtimedwait, in the order of each sender */
    RtProcess,                  /* to the process, sigqueue; handled by anyone, on its alternate stack if it has one */
    RtShared,                   /* to the process; several threads in sigtimedwait */
    RtWrite,                    /* to the process or a thread; the handler writes into a pipe */
    RtPost,                     /* to the process; the handler posts a semaphore */
    NRT
};

enum { MAXSLOTS = 20000, MAXSENDERS = 33, MAGIC = 0x5e7 };
enum phase { Starting, Running, Draining, Stopping, Done };

/* A long-lived thread. In memory shared with the process that watches. */
struct slot {
    const char *kind;
    const char *_Atomic where;  /* what it is doing; a literal */
    _Atomic unsigned long progress;
    _Atomic bool alive;         /* begun and not yet finished */
    _Atomic int tid;            /* of gettid; 0 until it runs */
    pthread_t thread;
    int index, nth;             /* among all, among those of its kind */
    bool takes;                 /* signals may be sent to it with pthread_kill and the like */
    uint64_t rnd;
    char *alt;                  /* its alternate stack, ALTSIZE bytes */
    _Atomic unsigned long sent, got;    /* RtHandler or RtWait, for it alone */
    uint32_t last[MAXSENDERS];  /* the last number from each sender */
};

enum { ALTSIZE = 65536 };

struct storm {
    _Atomic int phase;          /* enum phase; main */
    _Atomic bool bad;           /* something failed; whoever saw it */
    _Atomic bool quiet;         /* the sending process has stopped sending */
    int parent, child;
    int seconds, stall;
    bool hold;                  /* stop the process at a failure instead of aborting it */
    int nslots;
    _Atomic unsigned long sent[NRT], got[NRT];
    _Atomic uint64_t sentsum[NRT], gotsum[NRT];
    _Atomic unsigned long full;         /* EAGAIN: the queue of signals was full */
    _Atomic unsigned long hupsent, huphandled;  /* one at a time: each must be handled */
    _Atomic unsigned long usr1, usr2;   /* at least once: counted, and one more at the end */
    _Atomic unsigned long created, joined, detached, ended;
    _Atomic unsigned long cancels, cleanups, keys;
    _Atomic unsigned long bytes, locks, items, sleeps;
    struct slot slots[MAXSLOTS];
};

extern struct storm *storm;
extern __thread struct slot *self;      /* NULL in short-lived threads */
extern __thread volatile unsigned long restarted, interrupted;  /* handlers run here, with and without SA_RESTART */
extern __thread volatile uint64_t closed;       /* signals that must not be handled here now */
extern int writepipe[2];
extern sem_t posted;

#define SIG(rt) (SIGRTMIN + (int)(rt))

_Noreturn void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint64_t rnd(uint64_t *state, uint64_t n);      /* 0..n-1 */
void must(int e, const char *what);             /* e is 0 */
void step(const char *where);                   /* progress of this thread */
bool phaseis(enum phase p);                     /* that phase or a later one */
void pausefor(long us);                         /* sleeps; checks that it was not shorter, and each EINTR */
void blocksignals(int how, uint64_t mask);      /* bits as in closed; ~0: all */
uint64_t sigbit(int sig);
void install(int sig);                          /* the handler, with the flags that sig has */
void checkcounts(struct slot *s);               /* all that was sent to it has arrived */
bool room(enum rt k);                           /* not too many of them are under way */
bool queuesignal(enum rt k, struct slot *to, uint32_t sender, uint32_t seq);    /* false: the queue is full */

/* A call was interrupted: may it have been? Use: MARK before it, then EINTRCHECK(name, restarts) at once. */
#define MARK unsigned long mark_r = restarted, mark_i = interrupted
void eintrcheck(const char *what, bool restarts, unsigned long r, unsigned long i);
#define EINTRCHECK(what, restarts) eintrcheck(what, restarts, mark_r, mark_i)

/* storm_signal.c, storm_work.c, storm_life.c: the kinds of threads */
void drain(struct slot *), taker(struct slot *), sender(struct slot *), suspender(struct slot *);
void waitown(struct slot *), waitshared(struct slot *);
void pipe_writer(struct slot *), pipe_reader(struct slot *), sock_writer(struct slot *), sock_reader(struct slot *);
void locker(struct slot *), producer(struct slot *), consumer(struct slot *), rwlocker(struct slot *);
void sleeper(struct slot *), masker(struct slot *);
void manager(struct slot *), creator(struct slot *);
void work_init(int pipes, int socks, int lockers, int queues);
void work_check(void);
void life_init(void);

#endif

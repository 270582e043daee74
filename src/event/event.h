/* event: sources of ready Gs. Functions here return lists of Gs which they have claimed (see enum
 * wake); they never call the scheduler. */
#ifndef GOSSAMER_EVENT_H
#define GOSSAMER_EVENT_H

#include "base/base.h"

/* ---- timer.c ---- */

void timeradd(struct p *pp, struct timer *t, int64_t when);
extern _Atomic int64_t timerwatch;              /* sysmon sleeps in the poller until then; 0: it does not */
void timerdel(struct timer *t);                 /* after this it will not fire any more */
/* Claims the Gs whose timers of pp are due; appends those to be made ready. */
void timersrun(struct p *pp, int64_t now, struct glist *list);
int64_t timersnext(int nprocs, struct p *ps);   /* earliest of all, 0 if none */

/* ---- polldesc.c ---- */

/* FdStream: a TCP-like socket; FdUnix: a Unix stream; FdDgram: message boundaries. What is accepted from FdListenStream
 * and FdListenUnix is of these kinds. */
enum fdclass {
    FdUnknown, FdFile, FdStream, FdUnix, FdDgram, FdListen, FdListenStream,
    FdListenUnix, FdPipe, FdTty, FdEvent, FdSignal, FdOther, FdOurs,
};

/* A G that waits for an fd; on the waiting G's stack, linked under pd->lock. */
struct pdwait {
    struct pdwait *next, *prev;
    struct g *gp;
    struct polldesc *pd;
    uint8_t queue;              /* 'r' 'w' or 'p'; 0: in none */
    uint8_t mode;               /* for 'p': which readiness: PdRead and so on */
};

enum { PdRead = 1, PdWrite = 2, PdPri = 4, PdHup = 8 };        /* the last: hang-ups and errors, which poll always reports */

struct pdqueue {
    struct pdwait *head, *tail;
};

/* One for each fd number. Lock order: one at a time, before no other. */
struct polldesc {
    struct lock lock;
    uint32_t gen;               /* of the fd number; bumped by close. Under lock */
    _Atomic uint8_t class;      /* enum fdclass; under lock */
    _Atomic uint8_t nonblock;   /* the program's own O_NONBLOCK, as of nbgen; under lock */
    _Atomic uint8_t registered; /* with epoll; under lock */
    _Atomic uint8_t hup;        /* a hang-up or error was seen: always try */
    _Atomic uint32_t rseq, wseq; /* count of events; under lock, read by all */
    _Atomic uint32_t drained;   /* rseq + 1 as before the read that came back short; 0: none */
    _Atomic uint32_t nbgen;     /* nonblockgen when `nonblock` was looked up */
    struct pdqueue rq, wq, pq;  /* under lock */
};

extern _Atomic bool socktimeouts;               /* some socket has SO_RCVTIMEO or SO_SNDTIMEO, or had */
extern _Atomic bool signalfds;                  /* the program has one, or had */
struct polldesc *pdget(int fd);                 /* classified; NULL: out of range or not open */
struct polldesc *pdpeek(int fd);                /* as it is; NULL: out of range */
bool pdnonblock(int fd, struct polldesc *pd);   /* the program set O_NONBLOCK */
void pdmade(int fd, enum fdclass class, bool nonblock); /* a call of the program has just made fd */
void pdclosing(int fd, struct glist *list);     /* fd is about to be closed: claims all its waiters */
void pdplainpipe(int fd, bool plain);           /* while passive, too: fd is an end of a new pipe */
void pdforget(int fd);                          /* what fd is may have changed */
void nonblockchanged(void);                     /* some description's O_NONBLOCK may have changed */
void pdenqueue(struct polldesc *pd, struct pdwait *w, int queue); /* pd->lock held */
void pddequeue(struct pdwait *w);               /* takes pd->lock; nothing if it is in no queue */
int pdinit(void);
void pdreset(void);

/* ---- netpoll_epoll.c ---- */

int netpollinit(void);                          /* 0 or -errno: then nothing can be registered */
bool netpollopen(int fd, struct polldesc *pd);  /* pd->lock held; false: not pollable */
bool netpoll(int64_t delay, struct glist *list); /* ns; 0: do not wait, -1: for ever. True: there may be more */
/* The same for sysmon. *blocked: 0 if somebody else waits in netpoll, to whom a break is left; true: there was one. */
bool netpollwatch(int64_t delay, const _Atomic int64_t *blocked, struct glist *list);
void netpollbreak(void);
void netpollevent(int fd, uint32_t gen, uint32_t events, struct glist *list);    /* EPOLLIN and so on; claims */
bool netpollused(void);                         /* some fd was registered */
bool netpollours(int fd);
void netpollmove(int fd, struct glist *list);   /* the program wants this number; pinned */
void netpollprivate(void);
void netpollreset(void);
/* One waiter of the queue is claimed; appended to list if it must be made ready. pd->lock held. */
bool netpollready(struct pdqueue *q, struct glist *list);
extern _Atomic int pdhigh;                      /* no fd above it was ever registered */

/* ---- sweep.c ---- */

void netpollsweep(struct glist *list);          /* all events so far have been taken, and who they woke has run */
void sweepreset(void);                          /* in a forked child */

#endif

/* poller: whatever is due finds an M, also when every P is idle.
 *
 * The model of pollidle in src/sched/findrunnable.c, of netpoll and netpollbreak (event/netpoll_epoll.c), timeradd,
 * timersrun and timersnext (event/timer.c), of handoffp (m.c), and of what sysmon.c does for idle Ps: pollnet,
 * helpidle, retake and the deep sleep. Run queues, spinning and the way to sleep are the business of wakeup.pml:
 * here all runnable Gs are in one set, and looking, queueing and waking are one step each.
 *
 * Gs sleep until some `when`, wait for one fd, make system calls in which they may lose their P, or compute
 * for ever. `now` moves on at any time, or stands still for good. Then everything comes to rest, and nothing
 * that is due, ready or runnable may be left over while a P is idle. A time of 0 means none, as in the code.
 *
 * safe: -DHORIZON=2
 * broken: NOBREAK (forgotten): an M that goes idle with an earlier timer does not call the poller back
 * broken: ONELOOK (forgotten): pollidle does not look at the timers again after it has published polluntil
 * broken: LATERESET (forgotten): the poller says that it is back only after it has asked for a P
 * broken: EATENBREAK (forgotten): a look at the network without waiting takes the call-back away
 * broken: NOLASTP (forgotten): handoffp leaves the last P idle though nobody is in the poller
 * broken: SILENTP (forgotten): handoffp gives a P with timers away and tells nobody
 * broken: BLINDSLEEP (forgotten): sysmon goes into its deep sleep without the lock
 * broken: NOHELP (forgotten): sysmon does not wake an M for what is due beside an idle P
 */
#ifndef HORIZON
#define HORIZON 2               /* the last moment */
#endif
#ifndef FD
#define FD 1                    /* G 1 reads from the fd */
#endif
#ifndef CALL
#define CALL 1                  /* G 2 makes a system call */
#endif
#ifndef NM
#define NM 3
#endif
#define NP 2
#define NONE 3
#define B(x) (1 << (x))

#define Running 0               /* gs: what a G is at */
#define Runnable 1
#define Sleeping 2
#define OnFd 3
#define Ended 4
#define Waiting 5

byte gs[3];                     /* G 1 and 2 */
byte when_[3], heap[3];         /* a sleeping G's timer, the P whose heap it is in */
byte now;

/* sched */
unsigned runq : 3;              /* set of Gs: all run queues */
unsigned pidle : 2 , npidle : 2, nmspinning : 3;
bit lastpoll = 1;               /* 0 while one M is in the poller */
byte polluntil;
bit sysmonwait;
unsigned midle : 3, newp : 2, newspin : 2;      /* as in wakeup.pml */
bit called;                     /* G 2 has made its system call */
unsigned slept : 3;             /* Gs that have slept */
#define maysleep(g) (FD || CALL -> (g == 2 || !FD) && !(slept & B(g)) : 1)
byte status[NP];                /* 1: Psyscall */
byte nextp[NM];
bit nextspin[NM];

/* the kernel's epoll, and the fd */
bit used = (CALL && !FD);       /* some fd is registered */
bit edge;                       /* epoll_wait will report the fd */
bit readable;                   /* once */
bit breakfd, breaking;

inline pidleget(out)            /* sched.lock held, also below */
{
    out = (pidle & 1 -> 0 : (pidle & 2 -> 1 : NONE));
    if
    :: out != NONE ->
        pidle = pidle & ~B(out);
        npidle--;
        sysmonwait = 0
    :: else
    fi
}

inline pidleput(pp)
{
    pidle = pidle | B(pp);
    npidle++
}

inline startm(pp, spins)
{
    if
    :: midle ->
        k = (midle & 1 -> 0 : (midle & 2 -> 1 : 2));
        midle = midle & ~B(k);
        nextp[k] = pp + 1;
        nextspin[k] = spins;
        k = 0
    :: else ->
        newp = newp | B(pp);
        newspin = (spins -> newspin | B(pp) : newspin)
    fi
}

inline wakep()
{
    if
    :: npidle && !nmspinning ->
        nmspinning = 1;
        pidleget(q);
        startm(q, 1);
        q = 0
    :: else
    fi
}

/* list of one, to the queue, and an M for it */
inline injectglist()
{
    if
    :: list ->
        runq = runq | B(list);
        list = 0;
        if
        :: npidle -> pidleget(q); startm(q, 0); q = 0
        :: else
        fi
    :: else
    fi
}

inline take(out)
{
    out = (runq & 2 -> 1 : 2);
    runq = runq & ~B(out)
}

#define due(g, pp) (gs[g] == Sleeping && heap[g] == pp && when_[g] <= now)

inline timersrun(pp)
{
    if
    :: due(1, pp) -> gs[1] = Runnable; when_[1] = 0; runq = runq | 2
    :: else
    fi;
    if
    :: due(2, pp) -> gs[2] = Runnable; when_[2] = 0; runq = runq | 4
    :: else
    fi
}

#define timersnext (when_[1] && (!when_[2] || when_[1] < when_[2]) -> when_[1] : when_[2])
#define when0(pp) (heap[1] == pp && when_[1] && (heap[2] != pp || !when_[2] || when_[1] < when_[2]) -> when_[1] : \
                   (heap[2] == pp -> when_[2] : 0))

/* An edge makes its waiter ready: into list. */
inline netpoll()
{
    if
    :: edge ->
        edge = 0;
        list = (gs[1] == OnFd -> 1 : (gs[2] == OnFd -> 2 : 0));
        gs[list] = (list -> Runnable : gs[0])
    :: else
    fi
}

inline netpollbreak()
{
    if
    :: atomic { !breaking -> breaking = 1 };
        breakfd = 1
    :: breaking
    fi
}

proctype M(byte me)
{
    unsigned p : 2 = NONE, q : 2, g : 2, list : 2, k : 2, when : 3, until : 3;
    bit spin, brk;

    if
    :: me == 0 -> atomic { p = 0; g = 1; goto running }
    :: me == 1 && !CALL -> atomic { p = 1; g = 2; goto running }
    :: me == 1 && CALL -> goto pollidle
    :: else
    fi;

stopm:
    atomic {
        if
        :: newp ->
            p = (newp & 1 -> 0 : 1);
            spin = (newspin & B(p) -> 1 : 0);
            newp = newp & ~B(p);
            newspin = newspin & ~B(p);
            goto lookaround
        :: else -> midle = midle | B(me)
        fi
    };
endasleep:
    atomic {
        nextp[me];
        p = nextp[me] - 1;
        spin = nextspin[me];
        nextp[me] = 0;
        nextspin[me] = 0;
        goto lookaround
    };

lookaround:                     /* all of it, and the first half of idle */
    atomic {
        timersrun(p);
        if
        :: runq -> take(g); goto found
        :: else
        fi;
        if
        :: used && lastpoll ->
            netpoll();
#ifdef EATENBREAK
            breakfd = 0;
            breaking = 0;
#endif
            if
            :: list -> g = list; list = 0; goto found
            :: else
            fi
        :: else
        fi;
        if
        :: spin || 2 * nmspinning < NP - npidle ->
            timersrun(1 - p);
            nmspinning = nmspinning + !spin;
            spin = 1;
            if
            :: runq -> take(g); goto found
            :: else
            fi
        :: else
        fi;
        pidleput(p);
        p = NONE
    };
pollidle:                       /* recheck, and the first look of pollidle itself */
    atomic {
        nmspinning = nmspinning - spin;
        spin = 0;
        if
        :: runq ->
            pidleget(p);
            if
            :: p != NONE -> spin = 1; nmspinning++; goto lookaround
            :: else
            fi
        :: else
        fi;
        when = timersnext;
        if
        :: !used && !when -> goto stopm
        :: else
        fi
    };
    if
    :: atomic { !lastpoll };
        until = polluntil;
#ifndef NOBREAK
        if
        :: when && (!until || until > when) -> netpollbreak()
        :: !(when && (!until || until > when))
        fi;
#endif
        atomic { when = 0; until = 0; goto stopm }
    :: atomic { lastpoll -> lastpoll = 0 }
    fi;
    polluntil = when;
#ifndef ONELOOK
    until = timersnext;
    if
    :: atomic { until && (!when || until < when) -> when = until; polluntil = until }
    :: !(until && (!when || until < when))
    fi;
    until = 0;
#endif
endpoll:                        /* epoll_wait; with a time that has come it does not wait, and takes no call-back */
    atomic {
        edge || breakfd || (when && when <= now);
        netpoll();
        brk = breakfd && !(when && when <= now);
        breakfd = breakfd && !brk;
        when = 0
    };
    if
    :: atomic { brk -> brk = 0; breaking = 0 }
    :: !brk
    fi;
#ifdef LATERESET
    atomic {
        pidleget(p);
        if
        :: p == NONE -> injectglist()
        :: else
        fi
    };
    atomic { polluntil = 0; lastpoll = 1 };
#else
    atomic { polluntil = 0; lastpoll = 1 };
    atomic {
        pidleget(p);
        if
        :: p == NONE -> injectglist()
        :: else
        fi
    };
#endif
    atomic {
        if
        :: p == NONE -> goto stopm
        :: p != NONE && list -> g = list; list = 0; goto found
        :: p != NONE && !list -> spin = 1; nmspinning++; goto lookaround
        fi
    };

found:
    atomic {
        gs[g] = Running;
        nmspinning = nmspinning - spin;
        if
        :: spin -> wakep()
        :: else
        fi;
        spin = 0
    };
running:
    if
    :: g == 2 || FD -> goto forever
    :: atomic { CALL && gs[2] == Waiting -> gs[2] = Runnable; runq = runq | 4; goto running }      /* ready guesses */
    :: atomic { maysleep(g) && now < HORIZON -> when_[g] = now + 1; goto sleep }
    :: atomic { maysleep(g) && now + 1 < HORIZON -> when_[g] = now + 2; goto sleep }
    :: atomic { FD && g == 1 && !readable -> used = 1; gs[g] = OnFd; g = 0; goto lookaround }
    :: atomic { g == 1 && (readable || !FD) -> readable = 0; gs[g] = Ended; g = 0; goto lookaround }
    :: atomic { g == 2 && CALL && !called -> called = 1; status[p] = 1; goto insys }
    fi;
sleep:
    atomic { slept = (FD || CALL -> slept | B(g) : 0); heap[g] = p; gs[g] = Sleeping; g = 0; goto lookaround };

insys:
    if
    :: goto forever
    :: skip
    fi;
    /* exitsyscall */
    atomic {
        if
        :: status[p] -> status[p] = 0; goto running
        :: !status[p] ->
            pidleget(p);
            if
            :: p != NONE -> goto running
            :: else -> gs[g] = Runnable; runq = runq | B(g); g = 0; wakep(); goto stopm
            fi
        fi
    };

forever:
endforever:
    false
}

proctype Sysmon()
{
    unsigned p : 2 = NONE, q : 2, list : 2, k : 2, when : 3, until : 3;
    bit polled;

endtick:
    do
    :: atomic { used && lastpoll && (edge || breakfd && !polled) -> polled = breakfd };       /* pollnet */
        atomic {
            netpoll();
#ifdef EATENBREAK
            breakfd = 0;
            breaking = 0;
#endif
            injectglist()
        }
    /* retakeone. `gone` and not yet taken, or just a slow call */
    :: atomic { status[0] -> status[0] = 0; p = 0 }; goto handoffp
    :: atomic { status[1] -> status[1] = 0; p = 1 }; goto handoffp
#ifndef NOHELP
    :: atomic { npidle && !nmspinning && (runq || (timersnext && timersnext <= now)) -> wakep() }        /* helpidle */
#endif
#ifdef BLINDSLEEP
    :: npidle == NP -> sysmonwait = 1; goto enddeep
#else
    :: atomic { npidle == NP -> sysmonwait = 1; goto enddeep }
#endif
    od;

enddeep:
    !sysmonwait;
    goto endtick;

handoffp:
    atomic {
        if
        :: runq -> startm(p, 0); p = NONE; goto endtick
        :: else
        fi
    };
    atomic {
        if
        :: nmspinning + npidle == 0 -> nmspinning = 1; startm(p, 1); p = NONE; goto endtick
        :: else
        fi
    };
    atomic {
        if
        :: runq -> startm(p, 0); p = NONE; goto endtick
#ifndef NOLASTP
        :: !runq && npidle == NP - 1 && lastpoll -> startm(p, 0); p = NONE; goto endtick
#endif
        :: else -> when = when0(p); pidleput(p); p = NONE
        fi
    };
#ifndef SILENTP
    if
    :: atomic { when && lastpoll -> wakep() }
    :: when && !lastpoll ->
        until = polluntil;
        if
        :: !until || until > when -> netpollbreak()
        :: until && until <= when
        fi
    :: !when
    fi;
#endif
    atomic { when = 0; until = 0; goto endtick }
}

/* The other end of the fd. */
proctype Peer()
{
    if
    :: d_step { readable = 1; edge = used }
    :: skip                     /* nothing comes */
    fi
}

proctype Clock()
{
end:
    do
    :: now < HORIZON -> now++
    :: break
    od
}

#define unserved(g) (gs[g] == Runnable || gs[g] == Sleeping && when_[g] <= now || gs[g] == OnFd && readable)
#define forgotten (!newp && npidle && (unserved(1) || unserved(2)))

proctype Judge()
{
    timeout -> assert(!forgotten)
}

init
{
    atomic {
#if CALL
        gs[2] = Waiting;
        pidle = 2;
        npidle = 1;
#endif
        run Sysmon();
#if FD
        run Peer();
#endif
        run Clock();
        run Judge();
        run M(0);
        run M(1);
#if NM > 2
        run M(2)
#endif
    }
}

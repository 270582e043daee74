/* poller: whatever is due finds an M, also when every P is idle.
 *
 * The model of pollidle in src/sched/findrunnable.c, of netpoll and netpollbreak (event/netpoll_epoll.c), timeradd,
 * timersrun and timersnext (event/timer.c), of handoffp (m.c), and of what sysmon.c does for idle Ps: pollnet,
 * helpidle, retake and the deep sleep. Run queues, spinning and the way to sleep are the business of wakeup.pml:
 * here all runnable Gs are in one set, and looking, queueing and waking are one step each.
 *
 * G 1 readies G 2, and sleeps or waits for an fd; G 2 sleeps, and makes a system call in which it may lose its P: each
 * at most once, in any order or not at all, for a G may also compute for ever, stay in the kernel, or end.
 * `now` moves on at any time, or stands still for good. Whenever nothing has to happen any more (`rest`), nothing
 * that is due, ready or runnable may be left over while a P is idle. A time of 0 means none, as in the code.
 *
 * To keep it small, accesses are one step when whoever comes in between them can only be misled into calling the
 * poller back in vain; -DFINE takes them apart. Whether others come in between makes no difference where
 * an M has just got its P, or is about to sleep. A goto into the middle of an atomic goes on with that step.
 *
 * Not among the faults: pollidle's second look at the timers (ONELOOK) and the reset of polluntil (STALEUNTIL) each
 * make the other one superfluous. With the reset, an M that sees lastpoll 0 before the poller has published its
 * polluntil finds 0, and calls it back; without, the second look sees that M's timer.
 *
 * safe: -DHORIZON=2
 * safe: -DHORIZON=2 -DWAITS=2
 * safe: -DHORIZON=1 -DFINE
 * safe: -DHORIZON=1 -DNM=4
 * broken: NOBREAK (forgotten): an M that goes idle with an earlier timer does not call the poller back
 * broken: NEITHER (forgotten): both ONELOOK and STALEUNTIL
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
#ifndef NM
#define NM 3                    /* or 4 */
#endif
#ifndef WAITS
#define WAITS 1                 /* 1: G 1 sleeps or reads, 2: one after the other */
#endif
#ifdef NEITHER
#define ONELOOK
#define STALEUNTIL
#endif
#define NP 2
#define NONE 3
#define B(x) (1 << (x))
#ifdef FINE
#define INBETWEEN }; atomic {   /* others may come in here */
#else
#define INBETWEEN ;
#endif

#define Running 0               /* gs1, gs2: what a G is at; also in a system call */
#define Runnable 1
#define Sleeping 2
#define OnFd 3
#define Ended 4
#define Waiting 5

unsigned gs1 : 3, gs2 : 3 = Waiting;
unsigned when1 : 3, when2 : 3;  /* a sleeping G's timer */
bit heap1, heap2;               /* the P in whose heap it is */
unsigned now : 3;
bit sleeps1 = 1, reads = 1;     /* what G 1 has not done yet, and G 2 */
bit sleeps2 = 1, calls = 1;

/* sched */
unsigned runq : 3;              /* set of Gs: all run queues */
unsigned pidle : 2 = 2, npidle : 2 = 1, nmspinning : 3;
bit lastpoll = 1;               /* 0 while one M is in the poller */
unsigned polluntil : 3;         /* as long as it waits, its deadline, too */
bit sysmonwait;                 /* it is in its deep sleep */
unsigned newp : 2, newspin : 2; /* Ps that wait for an M to start with, as sets */
unsigned midle : 4;             /* set of Ms; alike, so the first of them starts */
unsigned syscall : 2;           /* Ps that are Psyscall */
unsigned moving : 3 = NM;       /* so many are between two steps which they will take, for `rest` */

/* the kernel's epoll */
bit used;                       /* some fd is registered */
bit edge;                       /* epoll_wait will report the fd */
bit breakfd, breaking;

inline pidleget(out)            /* sched.lock held, also below */
{
    if
    :: pidle ->
        out = (pidle & 1 -> 0 : 1);
        pidle = pidle & ~B(out);
        npidle--;
        sysmonwait = 0
    :: else -> out = NONE
    fi
}

inline pidleput(pp)
{
    pidle = pidle | B(pp);
    npidle++
}

inline startm(pp, spins)
{
    newp = newp | B(pp);
    newspin = (spins -> newspin | B(pp) : newspin)
}

inline wakep()
{
    if
    :: npidle && !nmspinning -> nmspinning = 1; pidleget(q); startm(q, 1); q = 0
    :: else
    fi
}

/* g, if any: to the queue, and an M for it */
inline injectglist()
{
    if
    :: g ->
        runq = runq | B(g);
        g = 0;
        if
        :: npidle -> pidleget(q); startm(q, 0); q = 0
        :: else
        fi
    :: else
    fi
}

inline timersrun(pp)
{
    if
    :: gs1 == Sleeping && heap1 == pp && when1 <= now -> gs1 = Runnable; when1 = 0; heap1 = 0; runq = runq | B(1)
    :: else
    fi;
    if
    :: gs2 == Sleeping && heap2 == pp && when2 <= now -> gs2 = Runnable; when2 = 0; heap2 = 0; runq = runq | B(2)
    :: else
    fi
}

#define timersnext (when1 && (!when2 || when1 < when2) -> when1 : when2)
#define when0(pp) (heap1 == pp && when1 && (heap2 != pp || !when2 || when1 < when2) -> when1 : \
                   (heap2 == pp -> when2 : 0))

/* An edge makes its waiter ready. */
inline netpoll()
{
    if
    :: edge -> assert(gs1 == OnFd); edge = 0; gs1 = Runnable; g = 1
    :: else
    fi
}

#ifdef STALEUNTIL
#define STALE polluntil
#else
#define STALE 0
#endif
/* Out of epoll_wait: the call-back is taken, nobody is in the poller. */
#define BACK breaking = breaking && !brk; brk = 0 INBETWEEN polluntil = STALE INBETWEEN lastpoll = 1

inline askforp()
{
    pidleget(p);
    if
    :: p == NONE -> injectglist()
    :: else
    fi
}

proctype M(byte me)
{
    unsigned p : 2 = NONE, q : 2, g : 2, when : 3;
    bit spin, brk;

    atomic {
        if
        :: me == 0 -> p = 0; g = 1; moving--; goto running
        :: me == 1 -> goto pollidle
        :: else
        fi;
stopm:
        when = 0;
        midle = midle | B(me);
        moving--
    };
endasleep:
    atomic {
        newp && !(midle & (B(me) - 1));
        moving++;
        midle = midle & ~B(me);
        p = (newp & 1 -> 0 : 1);
        newp = newp & ~B(p);
        spin = (newspin & B(p) -> 1 : 0);
        newspin = newspin & ~B(p);
lookaround:
        timersrun(p);
        if
        :: runq -> goto found
        :: else
        fi;
        if
        :: used && lastpoll ->
            netpoll();
            if
            :: g -> goto found
            :: else
            fi
        :: edge || !used || !lastpoll           /* or left out, where such looks find nothing time and again */
        fi;
        if
        :: spin || 2 * nmspinning < NP - npidle ->
            timersrun(1 - p);
            nmspinning = nmspinning + !spin;
            spin = 1;
            if
            :: runq -> goto found
            :: else
            fi
        :: else
        fi
    };
    atomic {                    /* idle */
        if
        :: runq -> goto found
        :: else
        fi;
        pidleput(p);
        p = NONE
        INBETWEEN
        nmspinning = nmspinning - spin;
        spin = 0;
pollidle:
        if
        :: runq && pidle -> pidleget(p); spin = 1; nmspinning++; goto lookaround        /* recheck */
        :: else
        fi
        INBETWEEN
        when = timersnext;
        if
        :: !used && !when -> goto stopm
        :: else
        fi
    };
    atomic {
        if
        :: lastpoll -> lastpoll = 0; goto inpoller
        :: else
        fi
        INBETWEEN
#ifdef NOBREAK
        brk = 0
#else
        brk = when && (!polluntil || polluntil > when)
#endif
        INBETWEEN
        brk = brk && !breaking;
        breaking = breaking || brk
        INBETWEEN
        breakfd = breakfd || brk;
        brk = 0;
        goto stopm
    };
inpoller:
    polluntil = when;
    atomic {
#ifndef ONELOOK
        when = timersnext;
        if
        :: when && (!polluntil || when < polluntil) -> polluntil = when
        :: else
        fi;
#endif
        when = 0;
        moving--
    };
endpoll:                        /* epoll_wait, until polluntil */
    atomic {
        edge || breakfd || polluntil && polluntil <= now;
        moving++;
        netpoll();
        if
        :: breakfd -> breakfd = 0; brk = 1
        :: !breakfd || polluntil && polluntil <= now    /* without waiting: it is left */
        fi
    };
    atomic {
#ifndef LATERESET
        BACK
    };
    atomic {
        askforp();
#else
        askforp()
    };
    atomic {
        BACK;
#endif
        if
        :: p == NONE -> goto stopm
        :: p != NONE && !g -> spin = 1; nmspinning++; goto lookaround
        :: else
        fi;
found:
        if
        :: !g -> g = (runq & B(1) -> 1 : 2); runq = runq & ~B(g)
        :: else
        fi;
        nmspinning = nmspinning - spin;
        if
        :: spin -> spin = 0; wakep()
        :: else
        fi;
        gs1 = (g == 1 -> Running : gs1);
        gs2 = (g == 2 -> Running : gs2);
        moving--
    };
endrunning:
running:                        /* or it computes for ever */
    if
    :: atomic { g == 1 && gs2 == Waiting -> gs2 = Runnable; runq = runq | B(2); goto running }  /* ready guesses */
    :: atomic { g == 1 && sleeps1 && now < HORIZON -> when1 = now + 1; goto sleep }
    :: atomic { g == 1 && sleeps1 && now + 1 < HORIZON -> when1 = now + 2; goto sleep }
    :: atomic { g == 1 && reads -> reads = 0; sleeps1 = sleeps1 && WAITS > 1; used = 1; gs1 = OnFd; goto parked }
    :: atomic { g == 1 -> reads = 0; sleeps1 = 0; gs1 = Ended; goto parked }
    :: atomic { g == 2 && sleeps2 && now < HORIZON -> when2 = now + 1; goto sleep }
    :: atomic { g == 2 && sleeps2 && now + 1 < HORIZON -> when2 = now + 2; goto sleep }
    :: atomic { g == 2 -> sleeps2 = 0; calls = 0; gs2 = Ended; goto parked }
    :: atomic { g == 2 && calls -> calls = 0; syscall = B(p) }
    fi;
    atomic {                    /* exitsyscall, or never */
        if
        :: syscall -> syscall = 0; goto running
        :: else -> pidleget(p)
        fi;
        if
        :: p != NONE -> goto running
        :: else -> gs2 = Runnable; runq = runq | B(2); g = 0; wakep(); moving++; goto stopm
        fi;
sleep:
        if
        :: g == 1 -> sleeps1 = 0; reads = reads && WAITS > 1; heap1 = p; gs1 = Sleeping
        :: else -> sleeps2 = 0; heap2 = p; gs2 = Sleeping
        fi;
parked:
        g = 0;
        moving++;
        goto lookaround
    }
}

#define due (runq || timersnext && timersnext <= now)

proctype Sysmon()
{
    unsigned q : 2, g : 2;

endtick:
    do
    :: atomic { !sysmonwait && edge -> netpoll(); injectglist() }      /* pollnet; it saw lastpoll before */
#ifdef EATENBREAK
    :: atomic { !sysmonwait && used && lastpoll -> moving++ };
        atomic { breakfd = 0; breaking = 0; moving-- }
#endif
#ifndef NOHELP
    :: atomic { !sysmonwait && npidle && !nmspinning && due -> wakep() }        /* helpidle */
#endif
#ifdef BLINDSLEEP
    :: atomic { !sysmonwait && npidle == NP -> moving++ };
        atomic { sysmonwait = 1; moving-- }
#else
    :: atomic { !sysmonwait && npidle == NP -> sysmonwait = 1 }
#endif
    od
}

/* handoffp: by sysmon, in retake, or by the M itself on its way into the system call. Of its own, since in the latter
 * case sysmon's rounds go on meanwhile. */
proctype Handoff()
{
    unsigned p : 2, q : 2, when : 3;
    bit brk;

end:
    do
    :: atomic {
            syscall;
            moving++;
            p = (syscall & 1 -> 0 : 1);
            syscall = 0
            INBETWEEN
            if
            :: runq -> startm(p, 0); goto done
            :: else
            fi
            INBETWEEN
            if
            :: nmspinning + npidle == 0 -> nmspinning = 1; startm(p, 1); goto done
            :: else
            fi
        };
        atomic {
            if
            :: runq -> startm(p, 0); goto done
#ifndef NOLASTP
            :: !runq && npidle == NP - 1 && lastpoll -> startm(p, 0); goto done
#endif
            :: else
            fi;
#ifndef SILENTP
            when = when0(p);
#endif
            pidleput(p);
            if
            :: !when -> goto done
            :: else
            fi
        };
        atomic {
            if
            :: lastpoll -> wakep(); goto done
            :: else
            fi
            INBETWEEN
            brk = !polluntil || polluntil > when
            INBETWEEN
            brk = brk && !breaking;
            breaking = breaking || brk
            INBETWEEN
            breakfd = breakfd || brk;
            brk = 0;
done:
            when = 0;
            p = 0;
            moving--
        }
    od
}

/* Nobody is bound to do anything. A P that waits for an M does not count as idle; and where all Ms of the model are in
 * use it waits for good, while the code would make another M. */
#ifdef NOHELP
#define helped 0
#else
#define helped (npidle && !nmspinning && due)
#endif
#define rest (!moving && !newp && !syscall && \
              (lastpoll || !edge && !breakfd && !(polluntil && polluntil <= now)) && \
              (sysmonwait || npidle < NP && !helped && !(edge && lastpoll)))
#define forgotten (npidle && (gs1 == Runnable || gs1 == Sleeping && when1 <= now || gs1 == OnFd && edge || \
                              gs2 == Runnable || gs2 == Sleeping && when2 <= now))

init
{
    atomic {
        run Sysmon();
        run Handoff();
        run M(0);
        run M(1);
        run M(2);
#if NM > 3
        run M(3);
#endif
        if
        :: skip
        :: used = 1             /* by an fd of which nothing ever comes */
        fi
    };
end:
    do
    :: now < HORIZON -> now++
    :: atomic { gs1 == OnFd && !edge -> edge = 1 }
    :: atomic { rest && forgotten -> assert(false) }
    od
}

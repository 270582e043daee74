/* wakeup: no G waits beside an idle P without anybody on his way to it.
 *
 * The model of src/sched/proc.c (ready, gopark, prevdone, wakep, injectglist), findrunnable.c (lookaround,
 * idle, recheck) and m.c (startm, stopm, handoffp), with entersyscallblock and exitsyscall of syscall.c for
 * Gs that lose their P. A process M is a kernel thread; its labels and inlines are called as the functions
 * they stand for. sysmon is left out on purpose: it repairs what is lost here at its next tick, up to 10 ms
 * later, and with it nothing would ever be seen to be lost. What the code leaves to it by intent is marked
 * `excused`: the guess of ready (g->quick), and runnext of a P whose M has just been through its scheduler.
 *
 * Every step is one access to shared memory. Two kinds of plain stores are followed by plain loads that have
 * to come after them, and on x86 may not: they go through a store buffer here. `unseen` are Gs in a P's ring
 * whose tail the others do not see yet, `gpend` what was put on the global queue under a lock whose release is
 * not seen yet. Locked instructions and fences drain them. Everything else is as ordered as the code's.
 *
 * A critical section of sched.lock is one step where others see it change one word only.
 * A G that computes, or stays in a system call, for ever is what makes a forgotten G stay forgotten.
 *
 * safe: -DNM=2 -DNG=3
 * broken: NORELOOK (stranded): idle does not look once more after it has stopped spinning
 * broken: LOOKFIRST (stranded): ready looks for idle Ps and spinners before it has queued the G
 * broken: NOFENCE (stranded): nothing orders the global queue before nmspinning in prevdone (PrevGlobal)
 * broken: UNLOCKEDDROP (stranded): wakep without a P gives its place as spinner back after sched.lock
 * broken: SIZEFIRST (stranded): globrunqget makes runqsize smaller before the rest is in the ring
 * broken: SILENTPARK (stranded): prevdone queues a G that was claimed too early and wakes nobody
 * broken: LOOSERING (stranded): nothing orders the ring before npidle and nmspinning in ready
 * broken: BLINDPUT (stranded): handoffp gives a P to the idle ones without a look at the others' queues
 * broken: NOWAKER (stranded): the last spinner that finds work does not wake the next
 */
#ifndef NM
#define NM 3
#endif
#ifndef NG
#define NG 3
#endif
#ifndef READIES
#define READIES 1               /* Gs make others ready */
#endif
#ifndef CALLS
#define CALLS 1                 /* Gs make system calls in which they lose their P */
#endif
#define NP 2
#define NONE NP
#define B(x) (1 << (x))

/* What a G is at. Armed: it has let itself be woken, but its M stands on its stack. */
#define Parked 0
#define Armed 1
#define Claimed 2
#define Runnable 3
#define Running 4
#define Insys 5

byte gs[NG + 1];                /* G 0 is nobody */

/* sched */
bit locked;                     /* sched.lock, where it is held for more than a step */
unsigned glob : 4, gpend : 4;   /* global queue, sets of Gs */
unsigned pidle : 2, npidle : 2, nmspinning : 3;
unsigned midle : 3;             /* set of Ms */
unsigned newp : 2, newspin : 2; /* Ps that wait for a new M (templateloop), as sets */
bit gone;                       /* one M does not come back from the kernel */

/* Ps */
byte runnext[NP], ring[NP], unseen[NP];
bit excused[NP];

/* Ms */
byte nextp[NM];                 /* P + 1; its note, too */
bit nextspin[NM];
byte watch[NM];                 /* haswork waits for this P + 1; Went: its M was in its scheduler */
#define Went (NP + 1)

inline lowest(set, out)
{
    out = (set & 2 -> 1 : (set & 4 -> 2 : (set & 8 -> 3 : 0)))
}

inline drain(pp)
{
    ring[pp] = ring[pp] | unseen[pp];
    unseen[pp] = 0
}

inline drainglob()
{
    glob = glob | gpend;
    locked = (gpend -> 0 : locked);
    gpend = 0
}

/* ++pp->tick */
inline tick(pp)
{
    watch[0] = (watch[0] == pp + 1 -> Went : watch[0]);
    watch[1] = (watch[1] == pp + 1 -> Went : watch[1]);
    watch[NM - 1] = (watch[NM - 1] == pp + 1 -> Went : watch[NM - 1])
}

/* By CAS, so that the store buffer is empty then. */
inline runqget(pp, out)
{
    if
    :: runnext[pp] ->
        drain(pp);
        out = runnext[pp];
        runnext[pp] = 0;
        excused[pp] = 0
    :: else ->
        if
        :: ring[pp] | unseen[pp] ->
            drain(pp);
            lowest(ring[pp], out);
            ring[pp] = ring[pp] & ~B(out)
        :: else -> out = 0
        fi
    fi
}

/* runqput(pp, gp, true): an exchange, then a plain store. */
inline runqputnext(pp, gp)
{
    drain(pp);
    unseen[pp] = (runnext[pp] -> B(runnext[pp]) : 0);
    runnext[pp] = gp;
    excused[pp] = 0
}

/* sched.lock held */
inline pidleget(out)
{
    out = (pidle & 1 -> 0 : (pidle & 2 -> 1 : NONE));
    if
    :: out != NONE ->
        pidle = pidle & ~B(out);
        npidle--
    :: else
    fi
}

inline pidleput(pp)
{
    assert(!(pidle & B(pp)) && !runnext[pp] && !ring[pp] && !unseen[pp]);
    pidle = pidle | B(pp);
    npidle++
}

/* sched.lock held; pp is ours */
inline startm(pp, spins)
{
    if
    :: midle ->
        k = (midle & 1 -> 0 : (midle & 2 -> 1 : 2));
        midle = midle & ~B(k);
        assert(!nextp[k]);
        nextp[k] = pp + 1;
        nextspin[k] = spins;
        k = 0
    :: else ->
        newp = newp | B(pp);
        newspin = (spins -> newspin | B(pp) : newspin)
    fi
}

/* sched.lock held. A share of the global queue: with two Ps one G and, if there are more, another for the ring. */
inline globrunqget(out)
{
    lowest(glob, out);
    glob = glob & ~B(out);
    lowest(glob, h);
    glob = glob & ~B(h);
#ifdef SIZEFIRST
    locked = (h -> 1 : 0)
#else
    ring[p] = (h -> ring[p] | B(h) : ring[p]);
    h = 0
#endif
}

/* pushed: our last stores were to the global queue */
inline wakep(pushed)
{
    if
    :: npidle ->
        atomic {
            if
            :: !nmspinning ->
                nmspinning = 1;
                if
                :: pushed -> drainglob()
                :: !pushed && p != NONE -> drain(p)
                :: else
                fi;
                i = 1
            :: else
            fi
        };
        if
        :: atomic { i && !locked ->
                i = 0;
                pidleget(q);
                if
                :: q != NONE -> startm(q, 1); q = 0
#ifdef UNLOCKEDDROP
                :: else
#else
                :: else -> nmspinning--; q = 0
#endif
                fi };
#ifdef UNLOCKEDDROP
            atomic { nmspinning = (q == NONE -> nmspinning - 1 : nmspinning); q = 0 }
#endif
        :: !i
        fi
    :: !npidle
    fi
}

/* h is ours to be made ready: queue it, then wake somebody if that makes sense. */
inline ready()
{
#ifdef LOOKFIRST
    atomic { i = (npidle && !nmspinning) };
    atomic { runqputnext(p, h); h = 0 };
#else
    atomic { runqputnext(p, h); h = 0 };
#ifndef LOOSERING
    atomic { drain(p) };        /* the fence after what runnext had goes to the ring */
#endif
    if
    :: atomic { npidle -> i = 1 }; i = (nmspinning == 0)
    :: !npidle
    fi;
#endif
    if
    :: atomic { i && !(ring[p] | unseen[p]) -> excused[p] = 1; i = 0 }          /* parkssoon */
    :: atomic { i -> i = 0 }; wakep(0)
    :: !i
    fi
}

/* Is there work, of which nobody who knew us busy can have told us? recheck, and haswork for each P. */
inline recheck()
{
    q = 0;
    if
    :: atomic { glob -> i = 1 }
    :: !glob ->
        do
        :: atomic { q < NP && ring[q] -> i = 1; break }
        :: atomic { q < NP && !ring[q] && !runnext[q] -> q++ }
        :: atomic { q < NP && !ring[q] && runnext[q] -> watch[me] = q + 1 };
            atomic {
                excused[q] = (runnext[q] && watch[me] == Went -> 1 : excused[q]);
                i = (runnext[q] && watch[me] != Went);
                watch[me] = 0;
                q++;
                if
                :: i -> break
                :: else
                fi
            }
        :: atomic { q == NP -> break }
        od
    fi;
    q = 0
}

proctype M(byte me)
{
    unsigned p : 2 = NONE, q : 2, g : 2, h : 2, k : 2;
    bit i, spin;

    if
    :: me == 0 -> p = 0; g = 1; goto enter
    :: else
    fi;

stopm:
    atomic {
        !locked;
        assert(p == NONE && !spin && !g);
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
        nextspin[me] = 0
    };

lookaround:
    atomic {
        tick(p);
        runqget(p, g);
        if
        :: g -> goto found
        :: else
        fi
    };
    atomic {
        if
        :: glob && !locked ->
            globrunqget(g);
#ifdef SIZEFIRST
            if
            :: h -> goto restput
            :: else
            fi;
#endif
            goto found
        :: !glob ->
            if
            :: spin
            :: !spin && 2 * nmspinning < NP - npidle -> spin = 1; nmspinning++; drain(p)
            :: !spin && 2 * nmspinning >= NP - npidle -> goto idle      /* there are spinners enough */
            fi
        fi
    };
    /* stealwork, from the one other P */
    atomic {
        if
        :: pidle & B(1 - p) -> goto idle
        :: !(pidle & B(1 - p)) && ring[1 - p] ->
            lowest(ring[1 - p], g);
            ring[1 - p] = ring[1 - p] & ~B(g);
            goto found
        :: !(pidle & B(1 - p)) && !ring[1 - p] && runnext[1 - p] -> watch[me] = 2 - p
        :: else -> goto idle
        fi
    };
    atomic {
        if
        :: runnext[1 - p] && watch[me] != Went ->
            g = runnext[1 - p];
            runnext[1 - p] = 0;
            excused[1 - p] = 0;
            watch[me] = 0;
            goto found
        :: else -> watch[me] = 0
        fi
    };

idle:
    atomic {
        !locked;
        drain(p);
        if
        :: glob ->
            globrunqget(g);
#ifdef SIZEFIRST
            if
            :: h -> goto restput
            :: else
            fi;
#endif
            goto found
        :: else ->
            pidleput(p);
            p = NONE
        fi;
        if
        :: spin
        :: else -> goto relook
        fi
    };
    atomic { spin = 0; nmspinning-- };
relook:
#ifndef NORELOOK
    recheck();
    if
    :: atomic { i && !locked ->
            i = 0;
            pidleget(p);
            if
            :: p != NONE -> nmspinning++; spin = 1; goto lookaround
            :: else
            fi }
    :: !i
    fi;
#endif
    goto stopm;

#ifdef SIZEFIRST
restput:
    atomic { ring[p] = ring[p] | B(h); h = 0; locked = 0 };
#endif

found:                          /* schedule: resetspinning, enter */
    if
    :: atomic { spin -> spin = 0; nmspinning--; drain(p) };
#ifndef NOWAKER
        wakep(0)
#endif
    :: !spin
    fi;
enter:
    atomic { assert(gs[g] == Runnable && p != NONE); gs[g] = Running };
running:
    if
    :: goto forever
#if READIES
    :: atomic { gs[1] == Parked -> gs[1] = Runnable; h = 1 }
    :: atomic { gs[2] == Parked -> gs[2] = Runnable; h = 2 }
    :: atomic { NG > 2 && gs[NG] == Parked -> gs[NG] = Runnable; h = NG }
    :: atomic { gs[1] == Armed -> gs[1] = Claimed; goto running }
    :: atomic { gs[2] == Armed -> gs[2] = Claimed; goto running }
    :: atomic { NG > 2 && gs[NG] == Armed -> gs[NG] = Claimed; goto running }
#endif
    :: goto gopark
#if CALLS
    :: goto entersyscall
#endif
    fi;
    ready();
    goto running;

gopark:                         /* schednext, the switch, prevdone */
    atomic { gs[g] = Armed; tick(p); runqget(p, q) };
    atomic {
        if
        :: gs[g] == Armed -> gs[g] = Parked; g = q; q = 0;
            if
            :: g -> goto enter
            :: else -> goto lookaround
            fi
        :: gs[g] == Claimed && !q ->    /* on g0, which looks at its queue next */
            gs[g] = Runnable;
            runqputnext(p, g);
            g = 0;
            goto lookaround
        :: gs[g] == Claimed && q ->
            gs[g] = Runnable;
            h = g;
            g = q;
            q = 0;
#ifdef SILENTPARK
            runqputnext(p, h);
            h = 0;
            goto enter
#endif
        fi
    };
    ready();
    goto enter;

entersyscall:                   /* entersyscallblock; or sysmon takes the P */
    atomic { gs[g] = Insys; i = (runnext[p] || ring[p] || unseen[p] || glob) };
    /* handoffp */
    if
    :: atomic { i && !locked -> i = 0; drain(p); startm(p, 0); p = NONE; goto insys }
    :: atomic { !i -> i = (nmspinning + npidle == 0) }
    fi;
    if
    :: atomic { i && !nmspinning -> i = 0; nmspinning = 1 };
        atomic { !locked; startm(p, 1); p = NONE; goto insys }
    :: atomic { (!i || nmspinning) && !locked ->
            i = 0;
            if
            :: glob -> startm(p, 0); p = NONE; goto insys
            :: else -> pidleput(p); p = NONE
            fi };
#ifndef BLINDPUT
        recheck();
        if
        :: atomic { i -> i = 0 }; wakep(0)
        :: !i
        fi
#endif
    fi;
insys:
    if
    :: atomic { !gone -> gone = 1; goto forever }
    :: skip
    fi;
    /* exitsyscall: exitfast */
    if
    :: npidle ->
        atomic {
            !locked;
            pidleget(p);
            if
            :: p != NONE -> gs[g] = Running; goto running
            :: else
            fi
        }
    :: !npidle
    fi;
    /* prevdone: PrevGlobal */
    atomic {
        !locked;
        gs[g] = Runnable;
#ifdef NOFENCE
        locked = 1;
        gpend = B(g);
#else
        glob = glob | B(g);
#endif
        g = 0
    };
    wakep(1);
    goto stopm;

forever:
endforever:
    false
}

/* Somebody without a P (sysmon, the poller, a foreign thread) makes a G ready: injectglist. */
proctype Foreign()
{
    byte q, k;

endidle:
    do
    :: atomic {
            if
            :: gs[1] == Parked && !locked -> gs[1] = Runnable; gpend = B(1)
            :: gs[2] == Parked && !locked -> gs[2] = Runnable; gpend = B(2)
            :: NG > 2 && gs[NG] == Parked && !locked -> gs[NG] = Runnable; gpend = B(NG)
            fi;
            locked = 1
        };
        if
        :: npidle ->
            atomic {
                !locked;
                pidleget(q);
                if
                :: q != NONE -> startm(q, 0)
                :: else
                fi;
                q = 0
            }
        :: !npidle
        fi
    :: break                    /* nothing comes any more */
    od
}

proctype StoreBuffers()
{
enddrained:
    do
    :: d_step { gpend -> drainglob() }
    :: d_step { unseen[0] -> drain(0) }
    :: d_step { unseen[1] -> drain(1) }
    od
}

#define stranded \
    (!newp && (npidle && (glob || ring[0] || ring[1] || (runnext[0] && !excused[0]) || (runnext[1] && !excused[1])) || \
     npidle == NP && (runnext[0] || runnext[1])))

/* Nobody can move any more. */
proctype Judge()
{
    timeout -> assert(!stranded)
}

init
{
    atomic {
        pidle = 2;
        npidle = 1;
        gs[1] = Runnable;
        run Foreign();
        run StoreBuffers();
        run Judge();
        run M(0);
        run M(1);
#if NM > 2
        run M(2)
#endif
    }
}

/* park: of several wakers of one G, one owns the wake-up, and none reaches into the G's next wait.
 *
 * The model of g->wake: gclaim (src/base/base.h), parkbegin, parkend, withdraw, unpark and requeue (src/wait/park.c),
 * gopark, prevdone and breaksoff (src/sched/proc.c), timersrun and timerdel (src/event/timer.c) and signal_send
 * (src/wait/sigqueue.c). Each access to shared memory is a step.
 *
 * One G waits twice: first at address 1, with a timer, and may be requeued to address 2; then at address 3. Its
 * struct waiter is on its stack, so both waits have the same one. Racing for it are a waker for each address, one who
 * requeues, the timer, and signals. Mleft is the M that it leaves, which goes on with prevdone when the G may be
 * running again elsewhere. A bucket is named by the address it holds.
 *
 * safe: -DSENDERS=1
 * safe: -DSENDERS=2
 * broken: BLINDCOMMIT (owner): prevdone stores Parked, where it has to claim the word as well
 * broken: EARLYCOMMIT (onstack): gopark says Parked before the G has left its stack
 * broken: BLINDCLAIM (owner): gclaim looks and then stores
 * broken: HASTYLEAVE (inwait): a waiter that finds itself taken out does not wait for its waker's lock
 * broken: ONCEAROUND (bucket): withdraw does not see that requeue moved it while it waited for the lock
 * broken: NOTIMERDEL (timerwait): the timer stays in its heap
 * broken: DEAFPARK (sigwork): prevdone does not look for signals whose sender came too early to claim
 * broken: LATEARM (word): the waiter arms itself when it can already be found
 * broken: EARLYLOOK (word): parkbegin looks at the word before it has the bucket's lock
 */
#ifndef SENDERS
#define SENDERS 2               /* of signals */
#endif
#define None 0                  /* enum wake */
#define Armed 1
#define Parked 2
#define Unpark 3
#define Timeout 4
#define Signal 5

byte wake;
bit sigwork;
byte wait;                      /* the wait that the G is in, 1 or 2; 3: done */
byte owner;                     /* the reason for which it was claimed in this wait */
bit onstack = 1, runnable;      /* the G */
bit left;                       /* for Mleft: it is Parked, the rest of prevdone is to be done */

/* struct waiter */
byte bucket, addr;
byte inwait;                    /* which wait it is of */

bit held[4];                    /* bucket locks */
bit word[4];                    /* what is waited for */
bit timer;                      /* it is in the heap. The heap's lock is held for single steps only */
byte timerwait;

inline lock(b)
{
    atomic { !held[b] -> held[b] = 1 }
}

inline unlock(b)
{
    held[b] = 0
}

inline ready()
{
    atomic {
        assert(!onstack && !runnable);
        runnable = 1
    }
}

/* won: the caller owns the wake-up; then w says whether the G was Parked. */
inline gclaim(why, which)
{
    w = wake;
    do
    :: w == Armed || w == Parked ->
#ifdef BLINDCLAIM
        atomic { assert(!owner); owner = why; wake = why; won = 1; break }
#else
        atomic {
            if
            :: wake == w ->
                assert(!owner);
                assert(which == wait);
                owner = why;
                wake = why;
                won = 1;
                break
            :: else -> w = wake
            fi
        }
#endif
    :: else -> break
    od
}

proctype G()
{
    byte at = 1, b;
    bit seen;

nextwait:
    atomic {
        wait++;
        at = (wait == 1 -> 1 : 3);
        b = 0;
        seen = 0;
        if
        :: wait == 3 -> goto done
        :: else
        fi
    };
    /* parkbegin */
#ifdef EARLYLOOK
    seen = word[at];
    lock(at);
#else
    lock(at);
    seen = word[at];
#endif
    if
    :: seen -> unlock(at); goto nextwait
    :: !seen
    fi;
#ifndef LATEARM
    atomic { wake = Armed; owner = None };
#endif
    atomic { addr = at; inwait = wait; bucket = at };
    unlock(at);
#ifdef LATEARM
    atomic { wake = Armed; owner = None };
#endif
    /* parkend */
    if
    :: atomic { wait == 1 -> timer = 1; timerwait = wait }
    :: wait != 1
    fi;
    /* gopark */
    if
    :: wake >= Unpark -> goto resumed
    :: wake < Unpark
    fi;
#ifdef EARLYCOMMIT
    wake = (wake == Armed -> Parked : wake);
#endif
    /* prevdone, on another stack */
    onstack = 0;
#ifdef BLINDCOMMIT
    wake = Parked;
    left = 1;
#else
    atomic {
        if
        :: wake == Armed -> wake = Parked; left = 1
        :: wake == Parked -> left = 1           /* EARLYCOMMIT only */
        :: wake >= Unpark ->
            assert(!runnable);
            runnable = 1                        /* runqput: somebody was faster, it goes on */
        fi
    };
#endif
endparked:
    atomic { runnable -> runnable = 0; onstack = 1 };
resumed:
    assert(wake == owner);
#ifndef NOTIMERDEL
    if
    :: wait == 1 -> timer = 0
    :: wait != 1
    fi;
#endif
    if
    :: wake == Unpark
    :: wake != Unpark ->
        do                      /* withdraw */
        :: b = bucket;
#ifdef HASTYLEAVE
            if
            :: !b -> break
            :: b
            fi;
#endif
            if
            :: !b -> b = addr
            :: b
            fi;
            lock(b);
            if
            :: bucket == b -> bucket = 0
            :: bucket != b
            fi;
            seen = (!bucket && b == addr);
            unlock(b);
#ifdef ONCEAROUND
            break
#else
            if
            :: seen -> break
            :: !seen
            fi
#endif
        od
    fi;
    assert(!bucket);
    sigwork = 0;                /* releasem: handlers run */
    goto nextwait;
done:
    skip
}

/* The M that the G has left. */
proctype Mleft()
{
    byte w;
    bit won;

endrunning:
    do
    :: atomic { left -> left = 0 };
#ifndef DEAFPARK
        if
        :: sigwork -> gclaim(Signal, wait);     /* breaksoff. Any wait bears being broken off for nothing */
            if
            :: won && w == Parked -> ready()
            :: !won || w != Parked
            fi
        :: !sigwork
        fi;
        atomic { w = 0; won = 0 }
#endif
    od
}

proctype Unparker(byte at)
{
    byte w, which;
    bit won;

    if
    :: at == 3 -> goto nobody   /* only a signal ends the second wait */
    :: word[at] = 1
    fi;
    lock(at);
    if
    :: bucket == at -> atomic { which = inwait; bucket = 0 };
        gclaim(Unpark, which)
    :: bucket != at
    fi;
    unlock(at);
    if
    :: won && w == Parked -> ready()
    :: !won || w != Parked
    fi;
nobody:
    skip
}

proctype Requeuer()
{
    lock(1);
    lock(2);
    if
    :: bucket == 1 ->
        bucket = 0;
        addr = 2;
        bucket = 2
    :: bucket != 1
    fi;
    unlock(2);
    unlock(1)
}

proctype Timer()
{
    byte w, which;
    bit won;

endarmed:
    do
    :: atomic { timer -> timer = 0; which = timerwait; w = wake;        /* timersrun, under the heap's lock */
            if
            :: w == Armed || w == Parked ->
                assert(timerwait == wait);
                assert(!owner);
                owner = Timeout;
                wake = Timeout
            :: else -> w = None
            fi };
        if
        :: w == Parked -> ready()
        :: w != Parked
        fi;
        atomic { w = 0; which = 0 }
    od
}

proctype Sender()
{
    byte w;
    bit won;

    sigwork = 1;
    gclaim(Signal, wait);       /* no lock: it may be any wait */
    if
    :: won && w == Parked -> ready()
    :: won && w != Parked
    :: !won                     /* pokeg: for a G that is on an M and not in a wait, whose releasem looks */
    fi
}

/* At rest the G is through, or waits for what has not happened. */
proctype Judge()
{
    timeout -> assert(wait == 3 || wait == 2 && !sigwork && !word[3])
}

init
{
    atomic {
        run Mleft();
        run Unparker(1);
        run Unparker(2);
        run Unparker(3);
        run Requeuer();
        run Timer();
        run Sender();
#if SENDERS > 1
        run Sender();
#endif
        run Judge();
        run G()
    }
}

/* handoff: sysmon takes the P from an M that sleeps in the kernel without having said so.
 *
 * The model of takeunannounced and inruntime in src/sched/sysmon.c, of acquirem (sched.h) and regain (proc.c),
 * with entersyscall and exitsyscall (syscall.c) and sysmon's retake, which the handshake must leave alone.
 * A process M is a kernel thread; Gs park, are made ready by somebody (Others) and run on any of them.
 *
 * What must hold: whoever works on a P as its owner - a G between acquirem and releasem, g0, sysmon once it has
 * taken it - is the only one (`user`). A G runs on one M.
 *
 * acquirem counts the G's locks up with a plain store and then reads m->lostp, which x86 may turn round: the
 * store waits in `counted` until the M's next store, or until membarrier, or until it gets there by itself.
 * inruntime reads m->curg, then that G's locks and insys, each in a step of its own: in between M goes on, may
 * switch to another G, and the one that it ran may be out of the runtime on another M.
 *
 * safe: -DNG=2
 * safe: -DNG=3 -DCALLS=0
 * broken: NOASKING (user): sysmon looks and takes, there is no handshake
 * broken: NOBARRIER (user): asks, but has no membarrier before it looks
 * broken: NOLOOK (user): asks, and does not look at the G's locks again
 * broken: NOWAIT (user): acquirem goes on while sysmon asks
 * broken: STALEG (user): inruntime reads the locks of a G that may have gone to another M meanwhile
 * broken: NOTAKEN (user): acquirem does not see that the P was taken
 */
#ifndef NG
#define NG 3
#endif
#ifndef CALLS
#define CALLS 1                 /* Gs make announced system calls */
#endif
#define NM 3
#define NP 2
#define NONE 3
#define B(x) (1 << (x))

#define Parked 0                /* gs: what a G is at */
#define Queued 1
#define OnM 2

#define Pidle 0                 /* status: of a P */
#define Prunning 1
#define Psyscall 2

#define No 0                    /* lostp */
#define Asked 1
#define Taken 2

byte gs[NG + 1];
bit locks[NG + 1];              /* as memory has it */
bit insys[NG + 1];

byte status[NP];
byte pm[NP];                    /* pp->m */
bit used[NP];                   /* somebody works on it as its owner */
byte freep;                     /* Ps that an M may take: idle, or brought by startm */

byte curg[NM];
byte mp_p[NM];                  /* mp->p */
byte lostp[NM];
bit switched[NM];               /* prevdone was there since sysmon looked: m->switches has changed */
bit counted[NM];                /* the store of locks 1 has not got to memory yet */

inline user(pp)
{
    assert(!used[pp]);
    used[pp] = 1
}

inline drain(m)
{
    locks[curg[m]] = (counted[m] -> 1 : locks[curg[m]]);
    counted[m] = 0
}

/* Any G that is queued, or 0. */
inline runqget(out)
{
    if
    :: gs[1] == Queued -> out = 1
    :: gs[2] == Queued -> out = 2
    :: NG > 2 && gs[NG] == Queued -> out = NG
    :: gs[1] != Queued && gs[2] != Queued && gs[NG] != Queued -> out = 0
    fi;
    gs[out] = OnM
}

proctype M(byte me)
{
    unsigned g : 2, next : 2, p : 2 = NONE;

    if
    :: me == 0 -> atomic { g = 1; p = 0; goto endusercode }
    :: me != 0
    fi;

endstopm:                       /* no P: somebody brings one, or there is an idle one */
    atomic {
        if
        :: freep & 1 -> p = 0
        :: freep & 2 -> p = 1
        fi;
        freep = freep & ~B(p);
        user(p);
        mp_p[me] = p;           /* acquirep */
        pm[p] = me
    };
    status[p] = Prunning;

g0:                             /* schedule, findrunnable */
    if
    :: atomic { runqget(g) };
        if
        :: atomic { g -> curg[me] = g; goto runtime }
        :: !g
        fi
    :: atomic { used[p] = 0; mp_p[me] = NONE; pm[p] = NONE; status[p] = Pidle; freep = freep | B(p); p = NONE; goto endstopm }
    fi;
    goto g0;

runtime:                        /* as g, pinned and with a P */
    if
    :: atomic { drain(me); used[p] = 0; locks[g] = 0; goto endusercode }     /* releasem */
    :: atomic { drain(me); runqget(next) };                /* gopark: schednext */
        curg[me] = next;                                                  /* enter, or g0 */
        atomic { switched[me] = 1; gs[g] = Parked; g = next; next = 0 };                    /* prevdone */
        if
        :: g -> goto runtime
        :: else -> goto g0
        fi
#if CALLS
    :: atomic { drain(me); mp_p[me] = NONE; insys[g] = 1; used[p] = 0; status[p] = Psyscall };     /* entersyscall */
        locks[g] = 0;
        goto kernel
#endif
    fi;

#if CALLS
kernel:
    locks[g] = 1;               /* exitsyscall, which uses no P */
    if
    :: atomic { status[p] == Psyscall -> status[p] = Prunning }
    :: atomic { status[p] != Psyscall ->
            if
            :: freep & 1 -> p = 0
            :: !(freep & 1) && freep & 2 -> p = 1
            :: else -> p = NONE
            fi;
            freep = (p != NONE -> freep & ~B(p) : freep) };
        if
        :: p != NONE -> status[p] = Prunning
        :: p == NONE ->
            insys[g] = 0;
            curg[me] = 0;
            atomic { switched[me] = 1; gs[g] = Queued; g = 0; goto endstopm }
        fi
    fi;
    mp_p[me] = p;
    pm[p] = me;
    insys[g] = 0;
    locks[g] = 0;
#endif

endusercode:
    counted[me] = 1;            /* acquirem */
    if
    :: atomic { lostp[me] == No -> user(p); goto runtime }
#ifdef NOWAIT
    :: atomic { lostp[me] == Asked -> user(p); goto runtime }
#endif
#ifdef NOTAKEN
    :: atomic { lostp[me] == Taken -> user(p); goto runtime }
#else
    :: lostp[me] == Taken       /* else sysmon decides in a moment */
#endif
    fi;
    atomic { drain(me); lostp[me] = No };                           /* regain */
    mp_p[me] = NONE;
    curg[me] = 0;
    atomic { switched[me] = 1; gs[g] = Queued; g = 0; p = NONE; goto endstopm }      /* prevdone: PrevGlobal */
}

inline inruntime()
{
    gp = curg[m];
    if
    :: !gp -> in = 1
    :: gp && locks[gp] -> in = 1
    :: gp && !locks[gp] -> in = insys[gp]
    fi;
    gp = 0
}

proctype Sysmon()
{
    unsigned m : 2, gp : 2;
    bit in;

endlook:
    do
#if CALLS
    :: atomic { status[0] == Psyscall -> status[0] = Pidle; user(0) };          /* retakeone */
        pm[0] = NONE;
        atomic { used[0] = 0; freep = freep | 1 }
#endif
    :: atomic { pm[0] != NONE -> m = pm[0] };       /* takeunannounced */
        if
        :: status[0] != Prunning -> goto endlook
        :: status[0] == Prunning
        fi;
#if defined(NOASKING) || defined(STALEG)
        inruntime();
        if
        :: atomic { in -> in = 0; goto endlook }
        :: !in
        fi;
#endif
#ifndef NOASKING
        lostp[m] = Asked;
#ifndef NOBARRIER
        atomic { drain(0); drain(1); drain(2) };        /* membarrier */
#endif
#ifndef NOLOOK
        switched[m] = 0;
        inruntime();
        in = (in || status[0] != Prunning);
        in = (in || pm[0] != m);
        in = (in || mp_p[m] != 0);
#ifndef STALEG
        in = (in || switched[m]);       /* last */
#endif
        if
        :: atomic { in -> lostp[m] = No; in = 0; goto endlook }
        :: !in
        fi;
#endif
#endif
        atomic { user(0); pm[0] = NONE };
        lostp[m] = Taken;
        atomic { used[0] = 0; freep = freep | 1; m = 0 }        /* handoffp */
    od
}

proctype Others()
{
end:
    do
    :: atomic { gs[1] == Parked -> gs[1] = Queued }
    :: atomic { gs[2] == Parked -> gs[2] = Queued }
    :: atomic { NG > 2 && gs[NG] == Parked -> gs[NG] = Queued }
    od
}

proctype StoreBuffers()
{
end:
    do
    :: d_step { counted[0] -> drain(0) }
    :: d_step { counted[1] -> drain(1) }
    :: d_step { counted[2] -> drain(2) }
    od
}

init
{
    atomic {
        gs[0] = OnM;
        gs[1] = OnM;
        locks[2] = 1;
        locks[NG] = 1;
        status[0] = Prunning;
        pm[0] = 0;
        pm[1] = NONE;
        freep = 2;
        curg[0] = 1;
        mp_p[1] = NONE;
        mp_p[2] = NONE;
        run Sysmon();
        run Others();
        run StoreBuffers();
        run M(0);
        run M(1);
        run M(2)
    }
}

/* gossamer_layout: what those who read the process from outside must know. See gossamer.h. It stands in
 * wait, the lowest layer that sees all that is described.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "gossamer.h"

_Static_assert((int)GOSSAMER_IDLE == (int)Gidle && (int)GOSSAMER_RUNNABLE == (int)Grunnable &&
               (int)GOSSAMER_RUNNING == (int)Grunning && (int)GOSSAMER_SYSCALL == (int)Gsyscall &&
               (int)GOSSAMER_WAITING == (int)Gwaiting && (int)GOSSAMER_DEAD == (int)Gdead, "enum gossamer_status");
_Static_assert((int)Pidle == 0 && (int)Prunning == 1 && (int)Psyscall == 2, "p.status");
_Static_assert((int)LostTaken == 2, "m.lostp");

#define AT(type, field) offsetof(struct type, field)

extern const struct gossamer_layout gossamer_layout;

__attribute__((visibility("default"), used)) const struct gossamer_layout gossamer_layout = {
    .magic = { 'g', 'o', 's', 's', 'a', 'm', 'e', 'r' },
    .version = GOSSAMER_LAYOUT_VERSION,
    .size = sizeof gossamer_layout,
    .at = { .active = &active, .gomaxprocs = &gomaxprocs, .sched = &sched, .allp = allp },
    .g = {
        .size = sizeof(struct g), .alllink = AT(g, alllink), .sp = AT(g, sp), .m = AT(g, m),
        .lockedm = AT(g, lockedm), .start = AT(g, start), .joining = AT(g, joining), .stklo = AT(g, stklo),
        .stkhi = AT(g, stkhi), .goid = AT(g, goid), .tid = AT(g, tid), .status = AT(g, status),
        .waitreason = AT(g, waitreason), .waiton = AT(g, waiton), .waitsince = AT(g, waitsince),
        .timerwhen = AT(g, timer.when), .runs = AT(g, runs),
        .cpusampled = AT(g, cpusampled), .cpuexact = AT(g, cpuexact), .name = AT(g, name),
    },
    .waiter = { .addr = AT(waiter, addr), .requeued = AT(waiter, requeued) },
    .m = {
        .size = sizeof(struct m), .alllink = AT(m, alllink), .link = AT(m, schedlink), .curg = AT(m, curg),
        .p = AT(m, p), .oldp = AT(m, oldp), .lockedg = AT(m, lockedg), .id = AT(m, id), .tid = AT(m, tid),
        .lostp = AT(m, lostp), .spinning = AT(m, spinning), .counters = AT(m, count),
    },
    .p = {
        .size = sizeof(struct p), .m = AT(p, m), .id = AT(p, id), .status = AT(p, status),
        .runqhead = AT(p, runqhead), .runqtail = AT(p, runqtail), .runnext = AT(p, runnext),
        .ngfree = AT(p, ngfree), .ntimers = AT(p, timers.n),
    },
    .sched = {
        .allgs = AT(sched, allgs), .allms = AT(sched, allms), .midle = AT(sched, midle),
        .mdead = AT(sched, mdead), .runqsize = AT(sched, runqsize), .nmspinning = AT(sched, nmspinning),
        .boottime = AT(sched, boottime), .now = AT(sched, now), .counters = AT(sched, count),
    },
    .mutexowner = offsetof(pthread_mutex_t, __data.__owner),
    /* as switch.S lays it out */
    .context = { .r15 = 8, .r14 = 16, .r13 = 24, .r12 = 32, .rbx = 40, .rbp = 48, .rip = 56, .rsp = 64 },
    .waits = {
        [WaitNone] = { "", GOSSAMER_ON_NOTHING },
        [WaitMutex] = { "sync.Mutex.Lock", GOSSAMER_ON_MUTEX },
        [WaitCond] = { "sync.Cond.Wait", GOSSAMER_ON_ADDRESS },
        [WaitRwlock] = { "sync.RWMutex.Lock", GOSSAMER_ON_ADDRESS },
        [WaitSem] = { "semacquire", GOSSAMER_ON_ADDRESS },
        [WaitBarrier] = { "barrier", GOSSAMER_ON_ADDRESS },
        [WaitOnce] = { "sync.Once.Do", GOSSAMER_ON_ADDRESS },
        [WaitJoin] = { "join", GOSSAMER_ON_JOIN },
        [WaitFutex] = { "futex", GOSSAMER_ON_ADDRESS },
        [WaitSleep] = { "sleep", GOSSAMER_ON_TIMER },
        [WaitRead] = { "IO wait", GOSSAMER_ON_FD },
        [WaitWrite] = { "IO wait, write", GOSSAMER_ON_FD },
        [WaitPoll] = { "IO wait, poll", GOSSAMER_ON_FD },
        [WaitPause] = { "pause", GOSSAMER_ON_NOTHING },
        [WaitEnded] = { "ended, not joined", GOSSAMER_ON_END },
    },
};

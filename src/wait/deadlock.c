/* GOSSAMER_DEADLOCK=1: says so when no G can ever run again. A report, never more: the process goes on waiting.
 *
 * sysmon asks when every P has been idle for a while. It is a deadlock if every G that has not ended waits for
 * something that only another G could give it (locks, condition variables, joins, ...), there is no timer, no G
 * in a call of the kernel or for a descriptor, no kernel thread beside those of the runtime, and no handler of
 * the program that a signal might call. A program with such a handler is never reported: its handler may be what wakes a G.
 * What nobody can have changed since the first look is looked at once more before it is said.
 */
#define _GNU_SOURCE 1
#include "wait/dump.h"
#include "base/env.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { LONGEST = 64, SETTLE = 50 * 1000000 };

/* ---- is it one? ---- */

/* Kernel threads of the process, or -1. */
static int
tasks(void)
{
    long fd = sys4(SYS_openat, AT_FDCWD, A("/proc/self/task"), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), r;
    char buf[4096];
    int n = 0;

    if (fd < 0)
        return -1;
    while ((r = sys3(SYS_getdents64, fd, A(buf), sizeof buf)) > 0)
        for (long at = 0; at < r;) {
            const char *entry = buf + at;       /* ino 8, off 8, reclen 2, type 1, name */
            uint16_t len;

            memcpy(&len, entry + 16, sizeof len);
            n += entry[19] != '.';
            at += len;
        }
    sys3(SYS_close, fd, 0, 0);
    return r < 0 ? -1 : n;
}

static int
ourtasks(void)
{
    int n = 2;                  /* sysmon and the template thread */

    for (struct m *mp = load_acq(&sched.allms); mp != NULL; mp = mp->alllink)
        n += load_rlx(&mp->tid) != 0;
    return n;
}

/* A handler of the program's could run. Not counted are faults, which a G brings on itself. */
static bool
handlers(void)
{
    uint64_t sa[4];             /* the kernel's struct sigaction: the handler comes first */

    for (int sig = 1; sig < _NSIG; sig++) {
        if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS ||
            sig == 32 || sig == 33 || dump_signal(sig))
            continue;
        if (sig == SIGURG ? signal_caught(sig)
                          : sys4(SYS_rt_sigaction, sig, 0, A(sa), 8) == 0 && sa[0] != (uintptr_t)SIG_DFL &&
                            sa[0] != (uintptr_t)SIG_IGN)
            return true;
    }
    return false;
}

/* Every G that has not ended waits for another one; then how often all of them have run, and one more. 0: not so. */
static uint64_t
allstuck(void)
{
    uint64_t runs = 1;

    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink) {
        uint32_t status = load_acq(&gp->status);

        if (status == Gdead || (status == Gwaiting && gp->waitreason == WaitEnded))
            continue;
        if (status != Gwaiting || gp->waitreason == WaitNone || gp->waitreason > WaitFutex ||
            load_acq(&gp->wake) != WakeParked)
            return 0;
        runs += gp->runs;
    }
    return load_acq(&sched.npidle) == gomaxprocs && timersnext(gomaxprocs, allp) == 0 ? runs : 0;
}

/* ---- the cycle ---- */

/* Whom gp waits for; NULL: nobody in particular. */
static struct g *
waitsfor(struct g *gp, const void **mutex)
{
    bool ismutex;

    *mutex = NULL;
    if (gp->waitreason == WaitJoin)
        return load_acq(&gp->joining);
    if (!dump_object(gp, mutex, &ismutex) || !ismutex)
        return NULL;
    return thread_bytid(dump_owner(*mutex));
}

/* Prints the cycle that begins at gp, if there is one and gp has the least goid in it. */
static bool
cycle(struct g *gp)
{
    const void *mutex;
    struct g *at = gp;
    int n = 0;

    do {
        at = waitsfor(at, &mutex);
        if (at == NULL || at->goid < gp->goid || ++n > LONGEST)
            return false;
    } while (at != gp);
    print("each of these waits for the next:\n");
    do {
        struct g *next = waitsfor(at, &mutex);

        if (next == NULL)
            return true;
        if (mutex != NULL)
            print("  goroutine %l waits for the mutex 0x%x, which goroutine %l holds\n", at->goid,
                  (uint64_t)(uintptr_t)mutex, next->goid);
        else
            print("  goroutine %l waits for the end of goroutine %l\n", at->goid, next->goid);
        at = next;
    } while (at != gp && --n > 0);
    return true;
}

static void
cycles(void)
{
    int left = 4096, shown = 0;         /* each look may go through all Gs */

    for (struct g *gp = load_acq(&sched.allgs); gp != NULL && left > 0 && shown < 16; gp = gp->alllink)
        if (load_acq(&gp->status) == Gwaiting && (gp->waitreason <= WaitCond || gp->waitreason == WaitJoin)) {
            shown += cycle(gp);
            left--;
        }
}

/* ---- when sysmon has seen nothing run for a while ---- */

/* sysmon has a table of descriptors of its own (see netpollprivate), without the program's stderr. */
static void
report(void)
{
    bool without = sys3(SYS_fcntl, 2, F_GETFD, 0) < 0;
    long process, err;

    if (without) {
        process = sys3(SYS_pidfd_open, sys3(SYS_getpid, 0, 0, 0), 0, 0);
        err = sys3(SYS_pidfd_getfd, process, 2, 0);
        sys3(SYS_close, process, 0, 0);
        if (err < 0)
            return;             /* the program has none either */
        if (err != 2) {
            sys3(SYS_dup3, err, 2, O_CLOEXEC);
            sys3(SYS_close, err, 0, 0);
        }
    }
    dump("all goroutines are asleep - deadlock!", cycles, NULL);
    if (without)
        sys3(SYS_close, 2, 0, 0);
}

/* True: perhaps it is one, but there is another kernel thread, which may be one that is just being made. */
static bool
look(void)
{
    static uint64_t reported;
    uint64_t runs = allstuck();

    if (runs == 0 || runs == reported || handlers())
        return false;
    if (tasks() != ourtasks())
        return true;
    sys_sleep(SETTLE);
    if (allstuck() != runs || tasks() != ourtasks() || handlers())
        return true;
    reported = runs;
    report();
    return false;
}

void
deadlock_boot(char **envp)
{
    const char *s = env_get(envp, "GOSSAMER_DEADLOCK");

    if (s != NULL && strcmp(s, "1") == 0)
        whenidle = look;
    else if (s != NULL && s[0] != '\0' && strcmp(s, "0") != 0)
        print("gossamer: GOSSAMER_DEADLOCK=%s is neither 0 nor 1; ignored\n", s);
}

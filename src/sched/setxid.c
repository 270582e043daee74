/* setuid and the like, for all kernel threads of the process.
 *
 * The kernel keeps credentials per thread; libc's setuid has each of its threads change them, in the handler of a
 * signal of its own (33). The handler works on THREAD_SELF, and setuid repeats until each struct pthread in
 * libc's list says that it was done: so it must run with the kernel thread's own thread pointer, not the G's.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"

enum { SigSetXid = 33 };

struct ksigaction {             /* rt_sigaction's own */
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static void (*setxid)(int, siginfo_t *, void *);
static char *maintp;

static __attribute__((noinline)) void
onsetxid(int sig, siginfo_t *info, void *uc)
{
    struct g *gp = curg;
    struct m *mp = gp != NULL ? gp->m : curm;
    char *tp = thread_pointer(), *own = mp == &m0 ? maintp : gp != NULL ? mp->g0tp : tp;

    if (own == tp) {
        setxid(sig, info, uc);
        return;
    }
    thread_pointer_set(own);
    setxid(sig, info, uc);
    thread_pointer_set(tp);
}

/* On the process's first thread, when libc has made its first thread, and with that its handler. */
void
tlssetxid(void)
{
    struct ksigaction sa;

    maintp = thread_pointer();
    if (sys4(SYS_rt_sigaction, SigSetXid, 0, A(&sa), 8) < 0 || (uintptr_t)sa.handler <= 1 || sa.handler == onsetxid)
        return;
    setxid = sa.handler;
    sa.handler = onsetxid;
    sys4(SYS_rt_sigaction, SigSetXid, A(&sa), 0, 8);
}

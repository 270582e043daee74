/* What the intercepted names share. Each hook is thin: passive processes take one branch to the next
 * definition; otherwise it translates arguments, and -errno to what the name's callers expect. */
#ifndef GOSSAMER_HOOK_H
#define GOSSAMER_HOOK_H

#ifndef _GNU_SOURCE
#error "hook.h needs _GNU_SOURCE"
#endif
#include "base/real.h"
#include "sched/sched.h"
#include "wait/wait.h"
#include <errno.h>

#define HOOK __attribute__((visibility("default")))

/* The only place where errno is set. */
static inline long
sysret(long r)
{
    if (unlikely(r < 0 && r > -4096)) {
        errno = (int)-r;
        return -1;
    }
    return r;
}

/* The running thread if it is a cancelled G: then a cancellation point acts (and does not return). */
static inline void
cancelpoint(void)
{
    struct g *gp = curg;

    if (unlikely(gp != NULL && load_rlx(&gp->canceled)) && !gp->raw)
        real.pthread_testcancel();
}

/* A wait that was broken by pthread_cancel, or by a signal handler. */
static inline int
interrupted(int r)
{
    if (unlikely(r == -EINTR))
        cancelpoint();
    return r;
}

/* The int that a waiting function gives, with the hook's frame still there: as a tail call it would be missing from the
 * stacks that `gossamer stacks` and debuggers show of who waits. */
#define FRAMED(call) ({ int framed_ = (call); __asm__ volatile("" : "+r"(framed_)); framed_; })

/* Around a real function that waits in the kernel and nothing else. */
static inline struct g *
enterreal(void)
{
    struct g *gp = getg();

    if (gp != NULL)
        io_entercall(gp);
    return gp;
}

static inline void
exitreal(struct g *gp)
{
    if (gp != NULL && likely(curg == gp))       /* else a handler forked in there, and this is the child, which is passive */
        exitsyscall(gp);
}

void syscallinit(void);         /* syscall.c */
long rawcall(long nr, const long a[6]);         /* raw.c: syscall(2) while active; -errno */
long signal_rawqueue(pid_t pid, pid_t tid, int sig, const siginfo_t *info);     /* signal.c: rt_tgsigqueueinfo(2) */

long timerraw(long nr, const long a[6]);        /* clock.c */

void loadreset(void);           /* load.c */

/* process.c */
void forked(void);              /* in the child of whatever forked */
long forkraw(long nr, const long a[6]);

void signalinit(void);          /* signal.c; after boot */

/* affine.c */
void affine(enum gossamer_lock why);              /* locks the running G to its M for good */
int capget(struct __user_cap_header_struct *h, struct __user_cap_data_struct *data);
int capset(struct __user_cap_header_struct *h, struct __user_cap_data_struct *const data);
bool affineprctl(int option);
bool affinesyscall(long nr);
bool affineraw(long nr, const long a[6], long *r);

/* thread.c */
extern size_t defaultstack;     /* GOSSAMER_STACK; 0: glibc's */

#endif

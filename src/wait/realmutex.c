/* Mutexes of which the kernel or other processes know: robust, priority inheritance and protection,
 * process-shared. They are libc's, and their owner is a kernel thread: the G is locked to its M while
 * it holds one, and its thread block shows the M's kernel tid (tlsborrow).
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "base/real.h"
#include <errno.h>

struct g *
realmutex_hold(void)
{
    struct g *gp = getg();

    if (gp == NULL)
        return NULL;
    lockOSThread(gp, GOSSAMER_LOCK_MUTEX);
    if (gp->locked == 1)
        tlsborrow(gp, load_rlx(&gp->m->tid));
    io_entercall(gp);
    return gp;
}

void
realmutex_release(struct g *gp)
{
    if (gp == NULL)
        return;
    if (gp->locked == 1)
        tlsreturn(gp);
    unlockOSThread(gp);
}

/* Locked, or the caller has to clean up after a dead owner: it holds it. */
int
realmutex_held(struct g *gp, int r)
{
    if (gp != NULL && unlikely(curg != gp))
        return r;               /* a handler forked in there, and this is the child, which is passive */
    if (gp != NULL)
        exitsyscall(gp);
    if (r != 0 && r != EOWNERDEAD)
        realmutex_release(gp);
    return r;
}

/* Those that the only thread of a passive process holds will be, once it is main, m0's. */
int
realmutex_passive(int r, int held)
{
    if (r == 0 || r == EOWNERDEAD)
        passiveheld += held;
    return r;
}

int
realmutex_lock(pthread_mutex_t *m)
{
    struct g *gp = realmutex_hold();

    return realmutex_held(gp, real.pthread_mutex_lock(m));
}

int
realmutex_trylock(pthread_mutex_t *m)
{
    struct g *gp = realmutex_hold();

    return realmutex_held(gp, real.pthread_mutex_trylock(m));
}

int
realmutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs)
{
    struct g *gp = realmutex_hold();

    return realmutex_held(gp, real.pthread_mutex_clocklock(m, clock, abs));
}

int
realmutex_unlock(pthread_mutex_t *m)
{
    int r = real.pthread_mutex_unlock(m);

    if (r == 0)
        realmutex_release(getg());
    return r;
}

/* Threads: pthread_create, join, detach, exit, attributes, names, keys; C11's thrd_*. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t defaultstack;
static _Atomic size_t glibcdefault;     /* of pthread_getattr_default_np; 0: to be asked */

static size_t
defaultsize(void)
{
    size_t size = load_rlx(&glibcdefault);
    pthread_attr_t attr;

    if (size == 0) {
        if (pthread_getattr_default_np(&attr) != 0 || pthread_attr_getstacksize(&attr, &size) != 0)
            size = 8 << 20;
        pthread_attr_destroy(&attr);
        store_rlx(&glibcdefault, size);
    }
    return size;
}

HOOK int
pthread_setattr_default_np(const pthread_attr_t *attr)
{
    int r = real.pthread_setattr_default_np(attr);

    store_rlx(&glibcdefault, 0);
    return r;
}

static void
parseattr(const pthread_attr_t *attr, struct newthread *nt)
{
    size_t dflt = defaultsize();
    int detach = PTHREAD_CREATE_JOINABLE;
    void *lo = NULL;
    size_t size = 0;

    *nt = (struct newthread){ dflt, pagesize, NULL, false, NULL, NULL };
    if (attr != NULL) {
        pthread_attr_getdetachstate(attr, &detach);
        pthread_attr_getstacksize(attr, &nt->stacksize);
        pthread_attr_getguardsize(attr, &nt->guardsize);
        pthread_attr_getstack(attr, &lo, &size);        /* address 0 - size, if none was set */
        nt->detached = detach == PTHREAD_CREATE_DETACHED;
        if ((uintptr_t)lo + size != 0)
            nt->stackaddr = lo;
    }
    if (nt->stackaddr == NULL && defaultstack != 0 && nt->stacksize == dflt)
        nt->stacksize = defaultstack;
    nt->stacksize = nt->stackaddr != NULL ? nt->stacksize : (nt->stacksize + pagesize - 1) & -pagesize;
}

/* How attr wants the thread scheduled, if not as its creator; false: as that. */
static bool
parsekattr(const pthread_attr_t *attr, struct kattr *k)
{
    struct sched_param param;
    int inherit = PTHREAD_INHERIT_SCHED;
    bool cpus = false;

    k->has = 0;
    k->size = sizeof k->cpus;
    if (pthread_attr_getaffinity_np(attr, k->size, (cpu_set_t *)k->cpus) == 0)
        for (size_t i = 0; i < k->size; i++)
            cpus |= k->cpus[i] != 0xff; /* all of them: none was set */
    if (cpus)
        k->has |= KattrCpus;
    pthread_attr_getinheritsched(attr, &inherit);
    if (inherit == PTHREAD_EXPLICIT_SCHED && pthread_attr_getschedpolicy(attr, &k->policy) == 0 &&
        pthread_attr_getschedparam(attr, &param) == 0 &&
        (k->policy != SCHED_OTHER || param.sched_priority != 0 || curg->affine)) {
        k->priority = param.sched_priority;
        k->has |= KattrPolicy;
    }
    return k->has != 0;
}

static int
create(pthread_t *th, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    struct newthread nt;
    struct kattr k;
    sigset_t mask;
    int r;

    parseattr(attr, &nt);
    if (attr != NULL && pthread_attr_getsigmask_np(attr, &mask) == 0)
        nt.sigmask = &mask;
    if (attr != NULL && parsekattr(attr, &k)) {
        if ((r = kattr_check(&k)) < 0)
            return -r;
        nt.kattr = &k;
    }
    return -thread_create(th, &nt, fn, arg);
}

/* A thread that the runtime does not know makes native threads. */
static bool
ours(void)
{
    if (unlikely(!active)) {
        if (boot() < 0)
            return false;
        signalinit();
    }
    return getg() != NULL;
}

HOOK int
pthread_create(pthread_t *th, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    if (unlikely(!ours()))
        return real.pthread_create(th, attr, fn, arg);
    return create(th, attr, fn, arg);
}

HOOK void
pthread_exit(void *ret)
{
    if (active && curg != NULL)
        thread_exit(ret);
    real.pthread_exit(ret);
    __builtin_unreachable();
}

static bool
isg(pthread_t th)
{
    return active && gof(th) != NULL;
}

HOOK int
pthread_join(pthread_t th, void **ret)
{
    int r;

    if (!active)
        return real.pthread_join(th, ret);
    cancelpoint();
    if (!isg(th)) {
        struct g *gp = enterreal();

        r = real.pthread_join(th, ret);
        exitreal(gp);
        return r;
    }
    while ((r = interrupted(thread_join(th, ret, false, 0))) == -EINTR)
        ;
    return -r;
}

HOOK int
pthread_tryjoin_np(pthread_t th, void **ret)
{
    return isg(th) ? -thread_join(th, ret, true, 0) : real.pthread_tryjoin_np(th, ret);
}

static int
timedjoin(pthread_t th, void **ret, clockid_t clock, const struct timespec *abs)
{
    int64_t when = 0;
    int r = 0;

    cancelpoint();
    if (abs != NULL) {
        r = deadline(clock, abs, &when);
        if (r == -EINVAL)
            return EINVAL;
        if (r < 0)
            when = r;           /* past: no wait */
    }
    while ((r = interrupted(thread_join(th, ret, false, when))) == -EINTR)
        ;
    return -r;
}

HOOK int
pthread_timedjoin_np(pthread_t th, void **ret, const struct timespec *abs)
{
    return isg(th) ? timedjoin(th, ret, CLOCK_REALTIME, abs) : real.pthread_timedjoin_np(th, ret, abs);
}

HOOK int
pthread_clockjoin_np(pthread_t th, void **ret, clockid_t clock, const struct timespec *abs)
{
    return isg(th) ? timedjoin(th, ret, clock, abs) : real.pthread_clockjoin_np(th, ret, clock, abs);
}

HOOK int
pthread_detach(pthread_t th)
{
    return isg(th) ? -thread_detach(th) : real.pthread_detach(th);
}

/* The G's own stack: for conservative garbage collectors and stack-bound checks. As natively the
 * reported size is the requested one and the top holds the thread's static data. */
HOOK int
pthread_getattr_np(pthread_t th, pthread_attr_t *attr)
{
    struct g *gp = isg(th) ? thread_of(th) : NULL;
    char *top, *lo;
    size_t size;

    if (gp == NULL || gp->ismain)
        return real.pthread_getattr_np(th, attr);
    size = gp->stksize;
    top = (char *)(((uintptr_t)gp->stkhi + pagesize - 1) & -pagesize);
    lo = gp->ownstack ? gp->stklo : top - size;
    pthread_attr_init(attr);
    pthread_attr_setstack(attr, lo, size);
    pthread_attr_setguardsize(attr, gp->guardsize);
    pthread_attr_setdetachstate(attr, (load_acq(&gp->joinstate) & 3) == Detached ? PTHREAD_CREATE_DETACHED
                                                                               : PTHREAD_CREATE_JOINABLE);
    return 0;
}

/* Names are the G's own; /proc shows the M's. The main thread's is the process's. */
HOOK int
pthread_setname_np(pthread_t th, const char *name)
{
    struct g *gp = isg(th) ? thread_of(th) : NULL;
    size_t n = strlen(name);

    if (gp == NULL || gp->ismain)
        return real.pthread_setname_np(th, name);
    if (n > 15)
        return ERANGE;
    memcpy(gp->name, name, n + 1);
    return 0;
}

HOOK int
pthread_getname_np(pthread_t th, char *buf, size_t len)
{
    struct g *gp = isg(th) ? thread_of(th) : NULL;

    if (gp == NULL || gp->ismain)
        return real.pthread_getname_np(th, buf, len);
    if (len < 16)
        return ERANGE;
    if (gp->name[0] == '\0')    /* inherited from the process, as by a native thread */
        return real.pthread_getname_np(pthread_self(), buf, len);
    memcpy(buf, gp->name, 16);
    return 0;
}

HOOK int
prctl(int option, ...)
{
    struct g *gp = getg();
    unsigned long a[4];
    va_list ap;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    if (gp != NULL && !gp->ismain && option == PR_SET_NAME) {
        memset(gp->name, 0, sizeof gp->name);
        memcpy(gp->name, (const char *)a[0], strnlen((const char *)a[0], 15));
        return 0;
    }
    if (gp != NULL && !gp->ismain && option == PR_GET_NAME && gp->name[0] != '\0') {
        memcpy((char *)a[0], gp->name, sizeof gp->name);
        return 0;
    }
    if (gp != NULL && affineprctl(option))
        affine(GOSSAMER_LOCK_PRCTL);
    return real.prctl(option, a[0], a[1], a[2], a[3]);
}

HOOK int
pthread_setspecific(pthread_key_t key, const void *value)
{
    struct g *gp = curg;

    if (gp != NULL)
        gp->specused = true;
    return real.pthread_setspecific(key, value);
}

HOOK int
tss_set(tss_t tss_id, void *val)
{
    struct g *gp = curg;

    if (gp != NULL)
        gp->specused = true;
    return real.tss_set(tss_id, val);
}

HOOK int
pthread_cancel(pthread_t th)
{
    static _Atomic bool haveunwinder;
    struct g *gp;
    bool parked;

    if (!isg(th) || (gp = thread_of(th)) == NULL)
        return real.pthread_cancel(th);
    if (gp == curg) {
        store_rel(&gp->canceled, true);
        return real.pthread_cancel(th);
    }
    /* As libc does, here, where it may fail, and not where it is needed. */
    if (!load_rlx(&haveunwinder) && dlopen("libgcc_s.so.1", RTLD_NOW) == NULL)
        return real.pthread_cancel(th);
    store_rlx(&haveunwinder, true);
    tlscancel(gp);
    store_rel(&gp->canceled, true);
    if (!tlscancelable(gp))
        return 0;
    gp->sigwork = true;         /* it is to look up from whatever it is at: see io_syscall */
    atomic_thread_fence(memory_order_seq_cst);
    if (!gclaim(&gp->wake, WakeCancel, &parked))
        pokeg(gp);              /* if it is running, or in a system call */
    else if (parked)
        goready(gp);
    return 0;
}

HOOK pid_t
gettid(void)
{
    struct g *gp = curg;

    return gp != NULL ? gp->tid : (pid_t)sys3(SYS_gettid, 0, 0, 0);
}

/* ---- C11: the same threads; the int result of the function comes back in the low half ---- */

static int
thrderror(int r)
{
    return r == 0 ? thrd_success : r == ENOMEM || r == EAGAIN ? thrd_nomem : r == EBUSY ? thrd_busy :
           r == ETIMEDOUT ? thrd_timedout : thrd_error;
}

HOOK int
thrd_create(thrd_t *th, thrd_start_t fn, void *arg)
{
    if (unlikely(!ours()))
        return real.thrd_create(th, fn, arg);
    return thrderror(create(th, NULL, (void *(*)(void *))(void (*)(void))fn, arg));
}

HOOK int
thrd_join(thrd_t thr, int *res)
{
    void *ret = NULL;
    int r;

    if (!isg(thr))
        return real.thrd_join(thr, res);
    r = pthread_join(thr, &ret);
    if (r == 0 && res != NULL)
        *res = (int)(uintptr_t)ret;
    return thrderror(r);
}

HOOK int
thrd_detach(thrd_t th)
{
    return isg(th) ? thrderror(-thread_detach(th)) : real.thrd_detach(th);
}

HOOK void
thrd_exit(int res)
{
    pthread_exit((void *)(uintptr_t)(unsigned)res);
}

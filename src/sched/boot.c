/* Starting the runtime at the first pthread_create, and being passive again in a forked child.
 *
 * The calling thread becomes the main G, on its own stack and thread block. Its kernel thread is m0, which
 * needs another stack and block to schedule on: one G block whose G never runs. The template thread is
 * the first real thread: it gives its struct pthread as template, and starts all later kernel threads.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/env.h"
#include "base/real.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { TEMPLATESTACK = 256 << 10 };

extern int64_t tracens;
extern int64_t preemptevery;
extern bool tracedetail, havemembarrier;

int passiveheld;
static struct lock bootlock;
static bool refused;
bool bootfiltered;
static const char *templatefault;
static struct note templatedone;
static char *templatestack;

static int
refuse(const char *what, const char *detail)
{
    refused = true;
    print("gossamer: %s%s; running on native threads\n", what, detail);
    return -1;
}

static void *
templatethread(void *unused)
{
    pthread_t monitor;
    pthread_attr_t attr;

    /* sysmon inherits this: it is never poked, and a SIGURG of the program's is for an M. */
    setmask(&sigm, G0MASK | UINT64_C(1) << (SIGURG - 1));
    curm = &sigm;
    store_rlx(&sigm.tid, (int)sys3(SYS_gettid, 0, 0, 0));
    templatefault = tlstemplate(templatestack, TEMPLATESTACK);
    if (templatefault == NULL) {
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, TEMPLATESTACK);
        if (real.pthread_create(&monitor, &attr, sysmon, NULL) != 0)
            templatefault = "no kernel thread for the monitor";
    }
    setmask(&sigm, G0MASK);     /* until masks are used */
    notewakeup(&templatedone);
    if (templatefault != NULL)
        return unused;
    return templateloop(unused);
}

static const char *
starttemplate(void)
{
    pthread_attr_t attr;
    pthread_t th;

    templatestack = sysalloc(TEMPLATESTACK);
    if (templatestack == NULL)
        return "no memory";
    noteclear(&templatedone);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstack(&attr, templatestack, TEMPLATESTACK);
    if (real.pthread_create(&th, &attr, templatethread, NULL) != 0)
        return "no kernel thread";
    notesleep(&templatedone);
    return templatefault;
}

static void
m0schedule(void *arg)
{
    schedule(arg);
}

/* The calling thread's G, in its own block's TLS; and m0 with a g0 of its own. */
static bool
adopt(void)
{
    static struct g g0main;     /* main's G: its block is libc's, so it stands here */
    struct g *gp = &g0main, *g0;
    struct slot slot;
    int class = slotclass(TEMPLATESTACK, pagesize, tlsextra());

    if (class < 0 || slotalloc(&slot, class) < 0)
        return false;
    g0 = tlsnew(&slot, (int)sys3(SYS_getpid, 0, 0, 0));
    if (g0 == NULL)
        return false;
    *(struct g **)(g0->tp + ((char *)&curg - thread_pointer())) = NULL;
    *(struct m **)(g0->tp + ((char *)&curm - thread_pointer())) = &m0;
    m0.g0tp = g0->tp;
    m0.g0sp = context_make(g0->stkhi, m0schedule, &m0, fp_control());

    memset(gp, 0, sizeof *gp);
    gp->tp = thread_pointer();
    gp->goid = 1;
    gp->tid = (int)sys3(SYS_gettid, 0, 0, 0);
    gp->ismain = true;
    gp->specused = true;        /* it may have set values before */
    gp->m = &m0;
    gp->timer.gp = gp;
    cpureset(gp, clocknow(CLOCK_THREAD_CPUTIME_ID));
    store_rlx(&m0.cpuseen, load_rlx(&gp->cpusampled));
    store_rlx(&gp->status, Grunning);
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, 0, A(&gp->sigmask), 8);
    gp->urgblocked = gp->sigmask >> (SIGURG - 1) & 1;
    gp->sigmask &= ~(UINT64_C(1) << (SIGURG - 1));
    sys4(SYS_rt_sigprocmask, SIG_SETMASK, A(&gp->sigmask), 0, 8);
    sys3(SYS_sigaltstack, 0, A(&gp->altstack), 0);
    if (gp->altstack.ss_flags & SS_DISABLE)
        memset(&gp->altstack, 0, sizeof gp->altstack);
    m0.altsp = gp->altstack.ss_sp;
    m0.sigmask = gp->sigmask;
    maskinit(gp->sigmask);
    store_rlx(&masksused, gp->sigmask != 0);    /* new Ms do not have it */
    m0.curg = gp;
    m0.robust = tlsrobust();
    if (passiveheld > 0) {      /* their owner is this kernel thread */
        gp->locked = (uint32_t)passiveheld;
        gp->lockedm = &m0;
        m0.lockedg = gp;
    }
    store_rlx(&m0.tid, gp->tid);
    rsequnregister();
    curg = gp;
    curtid = gp->tid;
    allgadd(gp);
    return true;
}

static void
procsinit(void)
{
    struct procs procs;

    env_procs(&procs, env_get(environ, "GOMAXPROCS"));
    gomaxprocs = procs.n;
    for (int i = gomaxprocs - 1; i >= 0; i--) {
        allp[i].id = i;
        if (i > 0)
            pidleput(&allp[i]);
    }
    m0.id = sched.mnext++;
    sched.count.msmade = 1;
    m0.rnd = 2463534242u;
    store_rlx(&sched.allms, &m0);
    acquirep(&m0, &allp[0]);
    store_rlx(&sched.lastpoll, nanotime());
    store_rlx(&sched.goidgen, 1);
    store_rlx(&allp[0].ngs, 1);
    allp[0].goid = allp[0].goidend = 0;
    sched.boottime = nanotime();
    store_rlx(&sched.now, sched.boottime);
    if (procs.bad)
        print("gossamer: GOMAXPROCS=%s %s %d\n", env_get(environ, "GOMAXPROCS"),
              procs.bad == 2 ? "is too large, using" : "is not a number of CPUs, using", gomaxprocs);
}

/* GODEBUG's keys that are ours and not Go's: for tests, and for who looks for a fault. In us, ms and ms. */
static void
debugknobs(const char *godebug)
{
    preemptevery = env_godebug(godebug, "preempt", 0) * 1000;
    idlems = env_godebug(godebug, "idlethreads", idlems / 1000000) * 1000000;
    idlestacks = env_godebug(godebug, "idlestacks", idlestacks / 1000000) * 1000000;
}

static void
mlimit(const char *s)
{
    unsigned long n;

    if (s == NULL || *s == '\0')
        return;
    if (env_size(s, &n) == 0 && n >= 4 && n <= 1 << 20)
        maxms = (int)n;
    else
        print("gossamer: GOSSAMER_MAXTHREADS=%s is not a number from 4 to 1048576; using %d\n", s, maxms);
}

static int
start(void)
{
    const char *godebug = env_get(environ, "GODEBUG"), *fault;

    /* env.c reads a few files, with large buffers: all of it before anything is shared. */
    clockinit();
    fault = tlsinit();
    if (fault != NULL)
        return refuse("this libc has no ", fault);
    if (pdinit() < 0)
        return refuse("no memory", "");
    procsinit();
    tracens = env_godebug(godebug, "schedtrace", 0) * 1000000;
    tracedetail = env_godebug(godebug, "scheddetail", 0) != 0;
    debugknobs(godebug);
    mlimit(env_get(environ, "GOSSAMER_MAXTHREADS"));
    asyncpreempt = env_godebug(godebug, "asyncpreemptoff", 0) == 0;
    havemembarrier = sys3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    netpollinit();
    fault = starttemplate();
    if (fault != NULL)
        return refuse("cannot make threads: ", fault);
    if (!adopt())
        return refuse("no memory", "");
    preemptinit();
    tlssetxid();
    sched.needspare = true;
    notewakeup(&sched.newmnote);
    store_rel((_Atomic int *)&active, 1);
    if (load_rlx(&masksused))
        masksync();
    return 0;
}

/* What would not survive us. A seccomp filter that was there when the program started is its container's,
 * which lets ordinary system calls through; one that the program set since knows what it expects. */
static const char *
unsuitable(void)
{
    static const char *const runtimes[] = { "__asan_init", "__tsan_init", "__msan_init", "__hwasan_init" };
    const char *preload = env_get(environ, "LD_PRELOAD");

    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (real.dlsym(RTLD_DEFAULT, runtimes[i]) != NULL)
            return "a sanitizer is linked in";
    if (preload != NULL && strstr(preload, "vgpreload") != NULL)
        return "under valgrind";
    if (!bootfiltered && sys3(SYS_prctl, PR_GET_SECCOMP, 0, 0) > 0)
        return "the program has set a seccomp filter";
    return NULL;
}

int
boot(void)
{
    const char *why;
    int r;

    if (refused)
        return -1;
    if ((why = unsuitable()) != NULL)
        return refuse(why, "");
    /* Only the process's first thread can be main; a foreign thread's threads stay native. */
    if (sys3(SYS_gettid, 0, 0, 0) != sys3(SYS_getpid, 0, 0, 0))
        return -1;
    lock(&bootlock);
    r = active ? 0 : start();
    unlock(&bootlock);
    return r;
}

void
bootrefuse(void)
{
    refused = true;
}

/* In the child only the calling thread exists, as whatever thread it was; it will be main if the child
 * ever makes threads. Nothing is shared with the parent: the runtime's memory is forgotten, except
 * what the thread itself runs on. */
void
bootchild(void)
{
    struct g *gp = curg;

    active = 0;
    curg = NULL;
    curm = NULL;
    netpollreset();
    pdreset();
    slotreset();
    tlsreset();
    memset(&sched, 0, sizeof sched);
    memset(allp, 0, sizeof allp);
    memset(&m0, 0, sizeof m0);
    memset(&sigm, 0, sizeof sigm);
    sigm.blocked = true;
    store_rlx(&masksused, false);
    maskreset();
    store_rlx(&hogs, false);
    store_rlx(&bootlock.key, 0);
    if (gp != NULL)
        gp->insys = false;
}

/* A list of all Gs on stderr, in the shape of Go's SIGQUIT dump, from inside the process.
 *
 * For the signal that GOSSAMER_DUMP_SIGNAL names, and for the report of a deadlock. It may be written on any
 * kernel thread, at any point, with any lock held by whom it interrupts: so nothing is locked or allocated, the Gs
 * are read as they are, as by an inspector, and where a pointer may be stale (a waiter on a stack that its G
 * has left) the kernel reads for us and says so if nothing is there.
 *
 * Of a stack it gives what is certain, the address where the G goes on, and then the words above it that follow a
 * call in some code, each with a question mark: what is left of an earlier call looks the same. A true
 * unwinder would need tables and locks of the loader; gossamer stacks has one, outside.
 */
#define _GNU_SOURCE 1
#include "wait/dump.h"
#include "base/env.h"
#include "base/real.h"
#include <errno.h>
#include <string.h>
#include <ucontext.h>

extern const struct gossamer_layout gossamer_layout;

enum { OUT = 32 << 10, LINE = 512, WORDS = 512, FRAMES = 12, MAXMODULES = 1024, CHUNK = 8 << 10, NAME = 48 };
enum { TIDBASE = 1 << 22 };     /* as thread.c gives them out: a tid above is a goid */

/* A part of a file that is mapped with the right to execute it. */
struct module {
    uintptr_t lo, hi, base;     /* base: where the file's begin is */
    char name[NAME];
};

struct dump {
    size_t n;
    int nmodules;
    char out[OUT];
    char chunk[CHUNK];
    uintptr_t words[WORDS];
    struct module modules[MAXMODULES];
};

static _Atomic int dumping;     /* 0, 1, or 2: once more, somebody asked meanwhile */

/* ---- output ---- */

static void
flush(struct dump *d)
{
    for (size_t at = 0; at < d->n;) {
        long r = sys3(SYS_write, 2, A(d->out + at), A(d->n - at));

        if (r == -EAGAIN) {
            struct pollfd full = { .fd = 2, .events = POLLOUT };

            r = sys3(SYS_poll, A(&full), 1, 1000) == 1 ? 0 : -EPIPE;
        }
        if (r == -EINTR)
            r = 0;
        if (r < 0)
            break;
        at += (size_t)r;
    }
    d->n = 0;
}

/* At most LINE bytes at a time. */
#define PUT(d, ...) \
    do { \
        if ((d)->n > OUT - LINE) \
            flush(d); \
        (d)->n += format((d)->out + (d)->n, LINE, __VA_ARGS__); \
    } while (0)

/* ---- memory that may not be there ---- */

static size_t
peek(const void *addr, void *buf, size_t n)
{
    struct iovec to = { buf, n }, from = { (void *)(uintptr_t)addr, n };
    long r = sys6(SYS_process_vm_readv, sys3(SYS_getpid, 0, 0, 0), A(&to), 1, A(&from), 1, 0);

    return r < 0 ? 0 : (size_t)r;
}

bool
dump_object(struct g *gp, const void **addr, bool *mutex)
{
    const char *w = (const char *)(uintptr_t)gp->waiton;
    bool requeued = false;
    uint32_t on;

    if (gp->waitreason >= sizeof gossamer_layout.waits / sizeof gossamer_layout.waits[0])
        return false;
    on = gossamer_layout.waits[gp->waitreason].on;
    if ((on != GOSSAMER_ON_MUTEX && on != GOSSAMER_ON_ADDRESS) ||
        peek(w + offsetof(struct waiter, addr), (void *)addr, sizeof *addr) != sizeof *addr)
        return false;
    if (gp->waitreason == WaitCond)
        peek(w + offsetof(struct waiter, requeued), &requeued, 1);
    *mutex = on == GOSSAMER_ON_MUTEX || requeued;
    return true;
}

int
dump_owner(const void *mutex)
{
    int tid = 0;

    return peek((const char *)mutex + offsetof(pthread_mutex_t, __data.__owner), &tid, sizeof tid) == sizeof tid ? tid : 0;
}

/* ---- where code is ---- */

static uintptr_t
hex(const char **s)
{
    uintptr_t v = 0;

    for (;; (*s)++) {
        if (**s >= '0' && **s <= '9')
            v = v << 4 | (uintptr_t)(**s - '0');
        else if (**s >= 'a' && **s <= 'f')
            v = v << 4 | (uintptr_t)(**s - 'a' + 10);
        else
            return v;
    }
}

/* "lo-hi perms offset dev inode  path" */
static void
mapping(struct dump *d, const char *line, uintptr_t *base, char last[NAME])
{
    struct module *m = &d->modules[d->nmodules];
    uintptr_t lo = hex(&line), hi, offset;
    const char *perms, *name, *slash;
    size_t n;

    hi = line++[0] == '-' ? hex(&line) : 0;
    perms = line + 1;
    if (hi == 0 || strlen(line) < 7)
        return;
    line += 6;
    offset = hex(&line);
    for (int blanks = 0; *line != '\0' && blanks < 3; line++)
        blanks += *line == ' ';
    while (*line == ' ')
        line++;
    name = (slash = strrchr(line, '/')) != NULL ? slash + 1 : line;
    n = strlen(name) < NAME ? strlen(name) : NAME - 1;
    if (offset == 0 || strncmp(last, name, n) != 0 || last[n] != '\0') {
        *base = lo;
        memcpy(last, name, n);
        last[n] = '\0';
    }
    if (n == 0 || perms[0] != 'r' || perms[2] != 'x' || d->nmodules == MAXMODULES)
        return;
    *m = (struct module){ .lo = lo, .hi = hi, .base = *base };
    memcpy(m->name, last, n + 1);
    d->nmodules++;
}

static void
findmodules(struct dump *d)
{
    long fd = sys4(SYS_openat, AT_FDCWD, A("/proc/self/maps"), O_RDONLY | O_CLOEXEC, 0), r;
    char last[NAME] = "";
    uintptr_t base = 0;
    size_t have = 0;

    if (fd < 0)
        return;
    while ((r = sys3(SYS_read, fd, A(d->chunk + have), A(CHUNK - 1 - have))) > 0 || r == -EINTR) {
        char *line = d->chunk, *end;

        have += r > 0 ? (size_t)r : 0;
        d->chunk[have] = '\0';
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            mapping(d, line, &base, last);
        }
        have -= (size_t)(line - d->chunk);
        memmove(d->chunk, line, have);
        if (have == CHUNK - 1)
            have = 0;           /* a line as long as this has no name that we could print */
    }
    sys3(SYS_close, fd, 0, 0);
}

static const struct module *
moduleof(const struct dump *d, uintptr_t pc)
{
    for (int i = 0; i < d->nmodules; i++)
        if (pc >= d->modules[i].lo && pc < d->modules[i].hi)
            return &d->modules[i];
    return NULL;
}

/* Is there a call just before pc? E8 and 4 bytes, or FF /2 in one of its lengths. */
static bool
behindcall(uintptr_t pc)
{
    uint8_t b[7];

    if (peek((const void *)(pc - sizeof b), b, sizeof b) != sizeof b)
        return false;
    if (b[2] == 0xe8)
        return true;
    for (int i = 0; i < 6; i++)
        if (b[i] == 0xff && (b[i + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

/* ---- a G ---- */

static void
frame(struct dump *d, uintptr_t pc, const char *mark)
{
    const struct module *m = moduleof(d, pc);

    if (m != NULL)
        PUT(d, "\t%s%s+0x%x\n", mark, m->name, (uint64_t)(pc - m->base));
    else
        PUT(d, "\t%s0x%x\n", mark, (uint64_t)pc);
}

static void
frames(struct dump *d, const struct g *gp, uintptr_t pc, uintptr_t sp)
{
    const struct module *own = moduleof(d, (uintptr_t)frames);
    uintptr_t hi = (uintptr_t)gp->stkhi;
    size_t n = sizeof d->words;
    int shown = 0;

    frame(d, pc, "");
    if (hi > sp && hi - sp < n)
        n = hi - sp;
    n = peek((const void *)sp, d->words, n) / sizeof d->words[0];
    for (size_t i = 0; i < n && shown < FRAMES; i++) {
        const struct module *m = moduleof(d, d->words[i]);

        if (m == NULL || m == own || !behindcall(d->words[i]))
            continue;
        frame(d, d->words[i], "? ");
        shown++;
    }
}

static void
owner(struct dump *d, const void *mutex)
{
    int tid = dump_owner(mutex);

    if (tid >= TIDBASE)
        PUT(d, ", held by goroutine %d", tid - TIDBASE);
    else if (tid == (int)sys3(SYS_getpid, 0, 0, 0))
        PUT(d, ", held by goroutine 1");
    else if (tid != 0)
        PUT(d, ", held by thread %d", tid);
}

/* What a parked G waits for. */
static void
detail(struct dump *d, struct g *gp)
{
    const void *addr;
    struct g *joining;
    bool mutex;

    switch (gossamer_layout.waits[gp->waitreason].on) {
    case GOSSAMER_ON_ADDRESS:
    case GOSSAMER_ON_MUTEX:
        if (!dump_object(gp, &addr, &mutex))
            return;
        PUT(d, ", 0x%x", (uint64_t)(uintptr_t)addr);
        if (mutex)
            owner(d, addr);
        return;
    case GOSSAMER_ON_JOIN:
        if ((joining = load_acq(&gp->joining)) != NULL)
            PUT(d, ", goroutine %l", joining->goid);
        return;
    case GOSSAMER_ON_FD:
        if ((int)(uint32_t)gp->waiton >= 0)
            PUT(d, ", fd %d", (int)(uint32_t)gp->waiton);
        return;
    }
}

static const char *
statename(const struct g *gp, uint32_t status)
{
    switch (status) {
    case Grunnable: return "runnable";
    case Grunning: return "running";
    case Gsyscall: return "syscall";
    case Gwaiting: return gossamer_layout.waits[gp->waitreason].name;
    }
    return "idle";
}

static void
oneg(struct dump *d, struct g *gp, const ucontext_t *uc, int64_t now)
{
    uint32_t status = load_acq(&gp->status);
    struct m *mp = *(struct m *volatile *)&gp->m;
    bool on = status == Grunning || status == Gsyscall, parked = status == Gwaiting;
    bool taken = status == Grunning && mp != NULL && mp->curg == gp && load_rlx(&mp->lostp) == LostTaken;
    int64_t minutes = parked ? (now - gp->waitsince) / INT64_C(60000000000) : 0;
    uintptr_t context[8];
    char name[sizeof gp->name + 1] = "";

    if (status == Gdead)
        return;
    PUT(d, "goroutine %l [%s", gp->goid, statename(gp, taken ? Gsyscall : status));
    if (minutes > 0)
        PUT(d, ", %l minute%s", minutes, minutes == 1 ? "" : "s");
    if (parked)
        detail(d, gp);
    if (on && mp != NULL)
        PUT(d, ", thread %d", (int)load_rlx(&mp->tid));
    PUT(d, "%s]:", gp->lockedm != NULL ? ", locked to thread" : "");
    memcpy(name, gp->name, sizeof gp->name);
    for (char *p = name; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';           /* a terminal might obey it */
    PUT(d, name[0] != '\0' ? " %s\n" : "\n", name);
    if (uc != NULL && gp == curg)
        frames(d, gp, (uintptr_t)uc->uc_mcontext.gregs[REG_RIP], (uintptr_t)uc->uc_mcontext.gregs[REG_RSP]);
    else if (parked && gossamer_layout.waits[gp->waitreason].on == GOSSAMER_ON_END)
        PUT(d, "\tit has ended; there is no stack\n");
    else if (!on && peek(gp->sp, context, sizeof context) == sizeof context)
        frames(d, gp, context[gossamer_layout.context.rip / sizeof context[0]],
               (uintptr_t)gp->sp + gossamer_layout.context.rsp);
    else if (on)
        PUT(d, "\tit %s; its stack is not known from inside\n", status == Grunning && !taken ? "runs" : "is in the kernel");
    if (gp->start != NULL) {
        PUT(d, "started at");
        frame(d, (uintptr_t)gp->start, "");
    }
    PUT(d, "\n");
}

static void
allgs(struct dump *d, const ucontext_t *uc)
{
    int64_t now = nanotime();

    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink)
        oneg(d, gp, uc, now);
}

void
dump(const char *why, void (*more)(void), const void *ucontext)
{
    int pid = (int)sys3(SYS_getpid, 0, 0, 0);
    struct dump *d;
    int n = 0;
    long r;

    do {
        if (n >= 2 || (n == 1 && atomic_compare_exchange_weak(&dumping, &n, 2)))
            return;
    } while (n != 0 || !atomic_compare_exchange_weak(&dumping, &n, 1));
    r = sys6(SYS_mmap, 0, sizeof *d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    print("gossamer: %s\n", why);
    if (more != NULL)
        more();
    if (r > 0 || r < -4095) {
        d = (struct dump *)r;
        PUT(d, "GOMAXPROCS=%d, process %d; for functions and lines: gossamer stacks %d\n\n", gomaxprocs, pid, pid);
        findmodules(d);
        allgs(d, ucontext);
        flush(d);
        sys3(SYS_munmap, A(d), sizeof *d, 0);
    }
    if (atomic_exchange(&dumping, 0) == 2)
        dump(why, NULL, NULL);
}

/* ---- the signal ---- */

static struct sigaction before; /* as the program had it, for a forked child, which is passive */
static int dumpsignal;

static void
ondump(int sig, siginfo_t *info, void *ucontext)
{
    (void)info;
    if (load_acq((_Atomic int *)&active)) {
        dump("dump of all goroutines", NULL, ucontext);
        return;
    }
    real.sigaction(sig, &before, NULL);
    if (before.sa_handler == SIG_DFL)
        sys3(SYS_tgkill, sys3(SYS_getpid, 0, 0, 0), sys3(SYS_gettid, 0, 0, 0), sig);
}

/* "QUIT", "SIGQUIT", "3", "RTMIN+1"; 0: none that we could catch. */
static int
signalnumber(const char *s)
{
    int n = 0, sig = 0, base = 0;
    const char *p = s;

    if (strncmp(s, "SIG", 3) == 0)
        p = s += 3;
    if (strncmp(s, "RTMIN", 5) == 0) {
        base = SIGRTMIN;
        if (s[5] == '\0')
            return base;
        p = s + 5 + (s[5] == '+');
    }
    while (*p >= '0' && *p <= '9' && n < 1000)
        n = n * 10 + *p++ - '0';
    if (n > 0 && *p == '\0')
        sig = base + n;
    for (int i = 1; i < SIGSYS + 1 && sig == 0 && base == 0; i++)
        if (sigabbrev_np(i) != NULL && strcmp(sigabbrev_np(i), s) == 0)
            sig = i;
    if (sig >= _NSIG || sig == 32 || sig == 33 || sig == SIGKILL || sig == SIGSTOP || sig == SIGURG || sig == SIGSEGV ||
        sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS)
        return 0;
    return sig;
}

bool
dump_signal(int sig)
{
    struct sigaction sa;

    return sig == dumpsignal && real.sigaction(sig, NULL, &sa) == 0 && sa.sa_sigaction == ondump;
}

void
dump_boot(char **envp)
{
    const char *s = env_get(envp, "GOSSAMER_DUMP_SIGNAL");
    struct sigaction sa = { .sa_sigaction = ondump, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK }, old;
    int sig;

    if (s == NULL || *s == '\0')
        return;
    sig = signalnumber(s);
    if (sig == 0 || real.sigaction(sig, NULL, &old) < 0) {
        print("gossamer: GOSSAMER_DUMP_SIGNAL=%s is not a signal that can be had; ignored\n", s);
        return;
    }
    if (old.sa_sigaction == ondump)
        return;                 /* in a forked child */
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
        print("gossamer: GOSSAMER_DUMP_SIGNAL=%s: the program handles that signal itself; ignored\n", s);
        return;
    }
    before = old;
    /* No handler of the program's on top of ours: it might park. SIGURG is harmless, and others wait for it. */
    sigfillset(&sa.sa_mask);
    sigdelset(&sa.sa_mask, SIGURG);
    dumpsignal = sig;
    real.sigaction(sig, &sa, NULL);
}

/* A storm: many threads doing I/O, locks and sleeps, while another process and other threads send signals at
 * random, and threads create and cancel each other.
 *
 * usage: storm [-n THREADS] [-k] [SECONDS]     default 1000 threads, 10 seconds; -k: stop at a failure, for gdb
 *
 * It ends with status 0 when all of these held, and dies by SIGABRT with a line that says what did not:
 * each real-time signal that was accepted arrived once, in the order of its sender where one thread is meant,
 * with its value; a standard signal that nobody else could have merged with arrived, the others at
 * least once; a blocked one was not handled; a call was interrupted only by a handler, one of a kind that does; each
 * cancelled thread ran its two cleanup handlers and its key's destructor once, and gave its mutex back; what was
 * written was read; what was created was joined; no thread stood still.
 *
 * The sending process is forked before the first thread and is the watchdog, too: it shares the slots in which
 * each long-lived thread counts its steps. STORM_STALL seconds (60) without one are a failure. The main thread
 * blocks all signals, so that the kernel picks any of the others for those sent to the process.
 *
 * Nothing here relies on what is unsafe natively: handlers use atomics, sem_post and write; a thread that
 * may be cancelled takes no signal that is counted.
 */
#include "storm.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct storm *storm;
__thread struct slot *self;
__thread volatile unsigned long restarted, interrupted;
__thread volatile uint64_t closed;
int writepipe[2];
sem_t posted;

enum { SLACK = 1000000 };       /* ns; the kernel counts its timer slack as left */

uint64_t
rnd(uint64_t *state, uint64_t n)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return n == 0 ? 0 : (x * UINT64_C(0x2545F4914F6CDD1D) >> 11) % n;
}

void
fail(const char *fmt, ...)
{
    char line[400];
    va_list ap;
    int n = snprintf(line, sizeof line, "FAIL %s %d (%s): ", self != NULL ? self->kind : "thread",
                     self != NULL ? self->index : -1, self != NULL && self->where != NULL ? self->where : "?");

    va_start(ap, fmt);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    if (write(2, line, (size_t)n) < 0 || atomic_exchange(&storm->bad, true) || storm->hold)
        for (;;)
            raise(SIGSTOP);
    abort();
}

void
must(int e, const char *what)
{
    if (e != 0)
        fail("%s: %s", what, strerror(e > 0 ? e : errno));
}

void
step(const char *where)
{
    if (self != NULL) {
        self->where = where;
        atomic_fetch_add_explicit(&self->progress, 1, memory_order_relaxed);
    }
}

bool
phaseis(enum phase p)
{
    return atomic_load(&storm->phase) >= (int)p;
}

static int64_t
nanos(clockid_t clk)
{
    struct timespec ts;

    clock_gettime(clk, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void
pausefor(long us)
{
    int64_t until = nanos(CLOCK_MONOTONIC) + us * 1000;
    struct timespec ts = { us / 1000000, us % 1000000 * 1000 }, left;
    int r = 0;

    do {
        MARK;
        if (us & 1) {
            struct timespec abs = { until / 1000000000, until % 1000000000 };

            r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &abs, NULL);
        } else if ((r = nanosleep(&ts, &left)) != 0) {
            r = errno;
            if (left.tv_sec * 1000000000 + left.tv_nsec > ts.tv_sec * 1000000000 + ts.tv_nsec + SLACK)
                fail("nanosleep: more is left than was asked for");
            ts = left;
        }
        if (r == EINTR)
            EINTRCHECK("nanosleep", false);
        else
            must(r, "nanosleep");
    } while (r == EINTR);
    if (nanos(CLOCK_MONOTONIC) < until)
        fail("nanosleep: too early");
}

uint64_t
sigbit(int sig)
{
    return UINT64_C(1) << (sig - 1);
}

void
blocksignals(int how, uint64_t mask)
{
    sigset_t set;

    sigemptyset(&set);
    if (mask == ~UINT64_C(0))
        sigfillset(&set);
    else
        for (int sig = 1; sig <= 64; sig++)
            if (mask & sigbit(sig))
                sigaddset(&set, sig);
    sigdelset(&set, SIGABRT);           /* the watchdog's */
    sigdelset(&set, SIGTERM);
    sigdelset(&set, SIGINT);
    must(pthread_sigmask(how, &set, NULL), "pthread_sigmask");
}

void
eintrcheck(const char *what, bool restarts, unsigned long r, unsigned long i)
{
    if (interrupted == i && (restarts || restarted == r))
        fail("%s: interrupted, though %s ran", what, restarted == r ? "no handler" : "only handlers with SA_RESTART");
}

/* ---- the process that sends and watches ---- */

static void
say(const char *fmt, ...)
{
    char line[300];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (write(2, line, (size_t)n) < 0)
        _exit(9);
}

static void
complain(const long *still)
{
    int shown = 0;

    if (atomic_load(&storm->bad))
        return;
    for (int i = 0; i <= storm->nslots; i++)
        if (still[i] >= storm->stall && storm->slots[i].alive && shown++ < 40)
            say("FAIL %s %d stands still for %ld s in: %s (tid %d)\n", storm->slots[i].kind, i, still[i], storm->slots[i].where,
                storm->slots[i].tid);
    for (int k = 0; k < NRT; k++)
        say("  signal %d: sent %lu, got %lu\n", k, storm->sent[k], storm->got[k]);
    say("  SIGHUP: sent %lu, handled %lu; %d threads stand still; phase %d\n", storm->hupsent, storm->huphandled, shown, storm->phase);
    atomic_store(&storm->bad, true);
    kill(storm->parent, storm->hold ? SIGSTOP : SIGABRT);
}

static void
watch(long *still, unsigned long *seen)
{
    bool stalled = false;

    for (int i = 0; i <= storm->nslots; i++) {
        unsigned long p = atomic_load(&storm->slots[i].progress);

        still[i] = storm->slots[i].alive && p == seen[i] ? still[i] + 1 : 0;
        if (storm->phase == Draining && strcmp(storm->slots[i].kind, "suspender") == 0)
            still[i] = 0;       /* nobody sends it anything */
        seen[i] = p;
        stalled |= still[i] >= storm->stall;
    }
    if (stalled)
        complain(still);
}

static void
sendprocess(uint64_t *state, uint32_t *seq)
{
    static const enum rt kinds[] = { RtProcess, RtShared, RtWrite, RtPost };
    enum rt k = kinds[rnd(state, 4)];

    switch (rnd(state, 8)) {
    case 0: kill(storm->parent, SIGUSR1); break;
    case 1: kill(storm->parent, SIGUSR2); break;
    case 2:
        if (storm->hupsent == storm->huphandled) {
            atomic_fetch_add(&storm->hupsent, 1);
            kill(storm->parent, SIGHUP);
        }
        break;
    default:
        if (room(k))
            queuesignal(k, NULL, 0, ++*seq);
    }
}

_Noreturn static void
child(void)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    int64_t next = nanos(CLOCK_MONOTONIC);
    unsigned long *seen = calloc(MAXSLOTS, sizeof *seen);
    long *still = calloc(MAXSLOTS, sizeof *still);
    uint32_t seq = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_range(3, ~0u, 0);     /* or nobody would see the end of a pipe */
    while (!phaseis(Done) && getppid() == storm->parent) {
        if (phaseis(Running) && !phaseis(Draining))
            sendprocess(&state, &seq);
        else if (phaseis(Draining))
            atomic_store(&storm->quiet, true);
        usleep((useconds_t)rnd(&state, 1500));
        if (nanos(CLOCK_MONOTONIC) > next) {
            next += 1000000000;
            watch(still, seen);
        }
    }
    _exit(0);
}

/* ---- main ---- */

static const struct kind {
    const char *name;
    void (*fn)(struct slot *);
    int share;                  /* of 1000; 0: the rest, below 0: that many */
    bool takes;
    bool blocks;                /* all signals */
} kinds[] = {
    { "drain", drain, -1, false, true }, { "taker", taker, -1, false, true }, { "sender", sender, -16, false, false },
    { "suspender", suspender, 8, true, false }, { "waitshared", waitshared, 4, true, false }, { "waitown", waitown, 40, true, false },
    { "manager", manager, 60, false, true }, { "creator", creator, 40, true, false },
    { "pipe_writer", pipe_writer, 80, true, false }, { "pipe_reader", pipe_reader, 80, true, false },
    { "sock_writer", sock_writer, 80, true, false }, { "sock_reader", sock_reader, 80, true, false },
    { "locker", locker, 160, true, false }, { "rwlocker", rwlocker, 40, true, false },
    { "producer", producer, 48, true, false }, { "consumer", consumer, 48, true, false },
    { "sleeper", sleeper, 110, true, false }, { "masker", masker, 0, true, false },
};
enum { NKINDS = sizeof kinds / sizeof kinds[0] };

static void
setstack(struct slot *s)
{
    stack_t st;

    if (s->index % 2 == 0 || strcmp(s->kind, "manager") == 0)
        return;
    memset(&st, 0, sizeof st);
    st.ss_sp = malloc(ALTSIZE);
    st.ss_size = ALTSIZE;
    must(sigaltstack(&st, NULL), "sigaltstack");
    s->alt = st.ss_sp;
}

static void *
body(void *arg)
{
    struct slot *s = arg;
    const struct kind *k = kinds;
    void *alt;

    self = s;
    setstack(s);
    while (strcmp(k->name, s->kind) != 0)
        k++;
    atomic_store(&s->tid, (int)gettid());
    atomic_store(&s->alive, true);
    step("start");
    if (!k->blocks)         /* what RtWait and RtShared are waited for stays blocked */
        blocksignals(SIG_UNBLOCK, sigbit(SIGUSR1) | sigbit(SIGUSR2) | sigbit(SIGHUP) | sigbit(SIG(RtHandler)) |
                                      sigbit(SIG(RtProcess)) | sigbit(SIG(RtWrite)) | sigbit(SIG(RtPost)));
    while (!phaseis(Running))
        pausefor(10000);
    k->fn(s);
    step("end");
    blocksignals(SIG_BLOCK, ~UINT64_C(0));
    alt = s->alt;
    if (alt != NULL) {
        stack_t off = { .ss_flags = SS_DISABLE };

        s->alt = NULL;
        must(sigaltstack(&off, NULL), "sigaltstack");
        free(alt);
    }
    atomic_store(&s->alive, false);
    return s;
}

static int
populate(int n)
{
    int i = 0, count[NKINDS], used = 0;

    for (int k = 0; k < NKINDS; k++) {
        count[k] = kinds[k].share < 0 ? -kinds[k].share : kinds[k].share * n / 1000;
        if (count[k] == 0 && kinds[k].share > 0)
            count[k] = 1;
        used += count[k];
        if (kinds[k].share == 0)
            count[k] = n > used ? n - used : 1;
        for (int j = 0; j < count[k]; j++, i++) {
            struct slot *s = &storm->slots[i];

            *s = (struct slot){ .kind = kinds[k].name, .index = i, .nth = j, .takes = kinds[k].takes };
            s->rnd = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        }
    }
    work_init(count[8], count[10], count[12], count[14]);
    return i;
}

/* Main's slot is the one after the others. Waits until a count has come as far as another; a wait without any
 * progress is the watchdog's to end. */
static void
waitcount(const char *what, const _Atomic unsigned long *got, const _Atomic unsigned long *sent)
{
    unsigned long seen = 0;

    self->where = what;
    while (atomic_load(got) < atomic_load(sent)) {
        if (*got != seen)
            step(what);
        seen = *got;
        pausefor(1000);
    }
    if (*got != *sent)
        fail("%s: %lu sent, %lu came", what, *sent, *got);
}

static void
joinkind(const char *kind)
{
    for (int i = 0; i < storm->nslots; i++) {
        struct slot *s = &storm->slots[i];
        void *ret = NULL;

        if (strcmp(s->kind, kind) != 0)
            continue;
        step(kind);
        must(pthread_join(s->thread, &ret), "pthread_join");
        if (ret != s)
            fail("%s %d returned %p", s->kind, i, ret);
        if (s->takes)
            checkcounts(s);
    }
}

static void
lastone(const char *what, int sig, _Atomic unsigned long *count)
{
    unsigned long before = atomic_load(count), after = before + 1;
    _Atomic unsigned long want = after;

    must(kill(storm->parent, sig), "kill");
    self->where = what;
    while (atomic_load(count) < atomic_load(&want))
        pausefor(1000);
    step(what);
}

/* Every sender has ended: everything arrives. */
static void
settle(void)
{
    static const char *const names[] = { "RtHandler to arrive", "RtWait to arrive", "RtProcess to arrive", "RtShared to arrive",
                                         "RtWrite to arrive", "RtPost to arrive" };

    self->where = "the sending process to stop";
    while (!atomic_load(&storm->quiet))
        pausefor(1000);
    for (int k = 0; k < NRT; k++) {
        waitcount(names[k], &storm->got[k], &storm->sent[k]);
        if (storm->gotsum[k] != storm->sentsum[k])
            fail("%s: values are wrong", names[k]);
    }
    waitcount("SIGHUP to arrive", &storm->huphandled, &storm->hupsent);
    lastone("the last SIGUSR1", SIGUSR1, &storm->usr1);
    lastone("the last SIGUSR2", SIGUSR2, &storm->usr2);
}

static void
stopall(void)
{
    atomic_store(&storm->phase, Stopping);
    for (int i = 0; i < storm->nslots; i++)
        while (strcmp(storm->slots[i].kind, "suspender") == 0 && atomic_load(&storm->slots[i].alive)) {
            must(pthread_kill(storm->slots[i].thread, SIGUSR1), "pthread_kill");
            pausefor(1000);
        }
    for (int k = 3; k < NKINDS; k++)
        joinkind(kinds[k].name);
    waitcount("detached threads to end", &storm->ended, &storm->detached);
    close(writepipe[1]);
    joinkind("drain");
    joinkind("taker");
}

static void
options(int argc, char **argv, int *n)
{
    const char *stall = getenv("STORM_STALL");
    int c;

    storm->stall = stall != NULL ? atoi(stall) : 60;
    while ((c = getopt(argc, argv, "n:k")) != -1)
        if (c == 'n')
            *n = atoi(optarg);
        else if (c == 'k')
            storm->hold = true;
        else
            exit(2);
    storm->seconds = optind < argc ? atoi(argv[optind]) : 10;
    if (*n < 30 || *n > MAXSLOTS - 200 || storm->seconds <= 0 || storm->stall <= 0)
        exit(2);
}

static void
summary(void)
{
    printf("signals: handled %lu, waited for %lu, to the process %lu, shared %lu, written %lu, posted %lu; queue full %lu times\n", storm->got[0],
           storm->got[1], storm->got[2], storm->got[3], storm->got[4], storm->got[5], storm->full);
    printf("SIGHUP %lu, SIGUSR1 %lu, SIGUSR2 %lu\n", storm->huphandled, storm->usr1, storm->usr2);
    printf("created %lu and %lu detached, cancelled %lu; bytes %lu, locks %lu, items %lu, sleeps %lu\n", storm->created, storm->detached,
           storm->cancels, storm->bytes, storm->locks, storm->items, storm->sleeps);
}

int
main(int argc, char **argv)
{
    static const int std[] = { SIGHUP, SIGUSR1, SIGUSR2 };
    struct rlimit rl;
    pid_t pid;
    int n = 1000;

    storm = mmap(NULL, sizeof *storm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (storm == MAP_FAILED)
        return 2;
    options(argc, argv, &n);
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
        rl.rlim_cur = rl.rlim_max;
        setrlimit(RLIMIT_NOFILE, &rl);
    }
    storm->parent = (int)getpid();
    must(pipe(writepipe), "pipe");
    sem_init(&posted, 0, 0);
    storm->nslots = populate(n);
    self = &storm->slots[storm->nslots];
    *self = (struct slot){ .kind = "main", .alive = true, .index = storm->nslots };
    step("start");
    pid = fork();
    if (pid == 0)
        child();
    must(pid < 0 ? errno : 0, "fork");
    storm->child = (int)pid;
    blocksignals(SIG_BLOCK, ~UINT64_C(0));
    for (int k = 0; k < 3; k++)
        install(std[k]);
    for (int k = 0; k < NRT; k++)
        if (k != RtWait && k != RtShared)
            install(SIG(k));
    life_init();
    for (int i = 0; i < storm->nslots; i++)
        must(pthread_create(&storm->slots[i].thread, NULL, body, &storm->slots[i]), "pthread_create");
    atomic_store(&storm->phase, Running);
    for (int i = 0; i < storm->seconds * 10; i++) {
        pausefor(100000);
        step("the storm");
    }
    atomic_store(&storm->phase, Draining);
    joinkind("sender");
    settle();
    stopall();
    work_check();
    if (storm->created != storm->joined)
        fail("%lu created, %lu joined", storm->created, storm->joined);
    atomic_store(&storm->phase, Done);
    if (waitpid(storm->child, NULL, 0) != storm->child)
        fail("waitpid");
    summary();
    return storm->bad;
}

/* The server of the soak: two threads accept, each connection gets a thread, detached or joined; others send signals and join.
 * A pthread program like any other: see soak.c.
 */
#include "soak.h"
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { STACK = 128 << 10, LISTENERS = 2 };

struct totals totals;
_Atomic int live, peak;
static _Atomic bool stopping;
static int listeners[LISTENERS], cycles;
static pthread_t acceptors[LISTENERS], sender, reaper;
static timer_t timer;

/* ---- the threads that may be sent signals, and those that are to be joined ---- */

struct ended {
    struct ended *next;
    pthread_t thread;
};

static pthread_mutex_t listlock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t someended = PTHREAD_COND_INITIALIZER;
static struct target **targets;
static int ntargets, maxtargets;
static struct ended *ended;

void
enlist(struct target *t)
{
    pthread_mutex_lock(&listlock);
    if (ntargets == maxtargets) {
        maxtargets = maxtargets * 2 + 64;
        if ((targets = realloc(targets, (size_t)maxtargets * sizeof *targets)) == NULL)
            die("no memory");
    }
    *t = (struct target){ pthread_self(), ntargets };
    targets[ntargets++] = t;
    pthread_mutex_unlock(&listlock);
}

void
delist(struct target *t)
{
    pthread_mutex_lock(&listlock);
    targets[t->index] = targets[--ntargets];
    targets[t->index]->index = t->index;
    pthread_mutex_unlock(&listlock);
}

void
born(void)
{
    int n = atomic_fetch_add(&live, 1) + 1, p = peak;

    while (p < n && !atomic_compare_exchange_weak(&peak, &p, n))
        ;
}

pthread_t
start(void *(*fn)(void *), void *arg, bool detached)
{
    pthread_attr_t attr;
    pthread_t th;
    int e;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_attr_setdetachstate(&attr, detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
    if ((e = pthread_create(&th, &attr, fn, arg)) != 0)
        die("pthread_create with %d threads: %s", live, strerror(e));
    pthread_attr_destroy(&attr);
    return th;
}

/* arg: the fd, and in its lowest bit whether the thread is to be joined. */
static void *
serve(void *arg)
{
    struct target me;
    struct ended *e;

    enlist(&me);
    converse((int)((uintptr_t)arg >> 1));
    delist(&me);
    if (((uintptr_t)arg & 1) == 0) {
        atomic_fetch_sub(&live, 1);
        return NULL;
    }
    if ((e = malloc(sizeof *e)) == NULL)
        die("no memory");
    e->thread = pthread_self();
    pthread_mutex_lock(&listlock);
    e->next = ended;
    ended = e;
    pthread_cond_signal(&someended);
    pthread_mutex_unlock(&listlock);
    return NULL;
}

/* ---- the helpers ---- */

static void *
reap(void *arg)
{
    pthread_mutex_lock(&listlock);
    for (;;) {
        struct ended *e = ended;

        if (e == NULL && stopping && live == 0)
            break;
        if (e == NULL) {
            pthread_cond_wait(&someended, &listlock);
            continue;
        }
        ended = e->next;
        pthread_mutex_unlock(&listlock);
        pthread_join(e->thread, NULL);
        free(e);
        atomic_fetch_sub(&live, 1);
        pthread_mutex_lock(&listlock);
    }
    pthread_mutex_unlock(&listlock);
    return arg;
}

/* One of the two accepts at once, the other one asks before. */
static void *
acceptall(void *arg)
{
    int which = (int)(intptr_t)arg, l = listeners[which];
    uint64_t state = options.seed + (uint64_t)which;

    while (!stopping) {
        bool joined = rnd(&state, 2) == 0;
        int fd = -1, r = 1;

        if (which == 1 && (r = poll(&(struct pollfd){ l, POLLIN, 0 }, 1, 200)) == 0)
            continue;
        if (r < 0 || (fd = accept4(l, NULL, NULL, SOCK_CLOEXEC)) < 0) {
            if (errno == EINTR)
                totals.eintr++;
            else if (errno == EMFILE)
                usleep(10000);      /* some that the client has closed will go */
            else if (errno != EAGAIN && !(stopping && errno == EINVAL))
                die("accept: %s", strerror(errno));
            continue;
        }
        totals.accepted++;
        *(joined ? &totals.joined : &totals.detached) += 1;
        born();
        start(serve, (void *)((uintptr_t)fd << 1 | joined), !joined);
    }
    return NULL;
}

/* Signals to threads that live, one or some at a time. */
static void *
pester(void *arg)
{
    uint64_t state = options.seed * 3 + 1;

    while (!stopping) {
        int n = rnd(&state, 20) == 0 ? 40 : 1;

        usleep((useconds_t)rnd(&state, 4000));
        pthread_mutex_lock(&listlock);
        for (; n > 0 && ntargets > 0; n--) {
            struct target *t = targets[rnd(&state, (uint64_t)ntargets)];
            int e = pthread_kill(t->thread, rnd(&state, 2) == 0 ? SIGUSR1 : SIGUSR2);

            if (e != 0 && e != EAGAIN)  /* EAGAIN: too many are queued */
                fail("pthread_kill: %s", strerror(e));
        }
        pthread_mutex_unlock(&listlock);
    }
    return arg;
}

static void
handler(int sig)
{
    (void)sig;
    totals.signals++;
}

static void
handlers(void)
{
    const int restart[] = { SIGUSR1, SIGALRM }, interrupt[] = { SIGUSR2, SIGRTMIN };
    struct sigaction sa = { .sa_handler = handler };

    for (int i = 0; i < 2; i++) {
        sa.sa_flags = SA_RESTART;
        sigaction(restart[i], &sa, NULL);
        sa.sa_flags = 0;
        sigaction(interrupt[i], &sa, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

/* For the process: SIGALRM every 10 ms, SIGRTMIN every 7 ms. 0: no more. */
static void
ticks(int on)
{
    struct timeval tv = { 0, 10000 * on };
    struct timespec ts = { 0, 7000000 * on };

    if (setitimer(ITIMER_REAL, &(struct itimerval){ tv, tv }, NULL) != 0 ||
        timer_settime(timer, 0, &(struct itimerspec){ ts, ts }, NULL) != 0)
        die("timer: %s", strerror(errno));
}

/* A small buffer for half of the connections, so that sending blocks; the kernel's own for the others. */
static int
listenon(int which)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof a;
    int size = 32768, l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (which == 0) {
        setsockopt(l, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        setsockopt(l, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof a) != 0 || listen(l, 4096) != 0 ||
        getsockname(l, (struct sockaddr *)&a, &len) != 0)
        die("listen: %s", strerror(errno));
    listeners[which] = l;
    return ntohs(a.sin_port);
}

/* Replaces a descriptor behind the library's back while a thread waits for it, which has to be rescued. Natively it would
 * wait for ever. */
static int edge[4];

static void *
edgereader(void *arg)
{
    char b;

    while (read(edge[0], &b, 1) < 0 && errno == EINTR)
        ;
    return arg;
}

static void
loseedge(void)
{
    static pthread_t th;
    long r;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, edge) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, edge + 2) != 0)
        die("socketpair: %s", strerror(errno));
    th = start(edgereader, NULL, false);
    usleep(100000);
    (void)!write(edge[3], "x", 1);
    __asm__ volatile("syscall" : "=a"(r) : "0"((long)SYS_dup2), "D"((long)edge[2]), "S"((long)edge[0]) : "rcx", "r11", "memory");
    pthread_join(th, NULL);
    for (int i = 0; i < 4; i++)
        close(edge[i]);
}

static void
servestart(int ports[LISTENERS])
{
    sigset_t set;

    peak = 0;
    stopping = false;
    for (int i = 0; i < LISTENERS; i++)
        ports[i] = listenon(i);
    for (int i = 0; i < LISTENERS; i++)
        acceptors[i] = start(acceptall, (void *)(intptr_t)i, false);
    sender = start(pester, NULL, false);
    reaper = start(reap, NULL, false);
    if (timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN }, &timer) != 0)
        die("timer_create: %s", strerror(errno));
    ticks(1);
    /* Every second time others have to handle what is sent to the process. */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGALRM);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(cycles++ % 2 == 0 ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
    if (options.fault == FaultEdge)
        loseedge();
}

/* The client has closed everything: until the last thread has ended. */
static void
servestop(void)
{
    int64_t until = now() + (int64_t)options.stall * 1000000000;

    stopping = true;
    for (int i = 0; i < LISTENERS; i++) {
        shutdown(listeners[i], SHUT_RD);
        pthread_join(acceptors[i], NULL);
        close(listeners[i]);
    }
    while (live != 0 && now() < until)
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    if (live != 0)
        die("%d threads still live %d s after all connections were closed", live, options.stall);
    ticks(0);
    timer_delete(timer);
    pthread_join(sender, NULL);
    pthread_mutex_lock(&listlock);
    pthread_cond_signal(&someended);
    pthread_mutex_unlock(&listlock);
    pthread_join(reaper, NULL);
    if (ntargets != 0)
        fail("%d threads are still in the list", ntargets);
}

/* ---- the main thread ---- */

struct state {
    long fds, threads, pages;   /* pages: KB of anonymous memory and page tables */
    int peak;
};

static long
entries(const char *dir)
{
    DIR *d = opendir(dir);
    long n = 0;

    if (d == NULL)
        die("%s: %s", dir, strerror(errno));
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static struct state
look(void)
{
    struct state s = { .fds = entries("/proc/self/fd"), .threads = entries("/proc/self/task"), .peak = peak };
    FILE *f;
    char line[200];

    malloc_trim(0);             /* what free() keeps is not leaked */
    if ((f = fopen("/proc/self/status", "r")) == NULL)
        die("/proc/self/status: %s", strerror(errno));
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0 || strncmp(line, "VmPTE:", 6) == 0)
            s.pages += strtol(strchr(line, ':') + 1, NULL, 10);
    fclose(f);
    return s;
}

/* Waits: a detached thread ends a moment after it has said so, and gossamer's monitor opens files for a moment. */
static struct state
settle(const struct state *start)
{
    struct state s = look();

    for (int i = 0; i < 100 && (s.fds != start->fds || (options.native && s.threads != start->threads)); i++) {
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
        s = look();
    }
    if (s.fds != start->fds)
        fail("%ld descriptors at the start, %ld at the end", start->fds - 3, s.fds - 3);
    if (options.native && s.threads != start->threads)
        fail("%ld threads at the start, %ld at the end", start->threads - 2, s.threads - 2);
    return s;
}

static void *
nothing(void *arg)
{
    return arg;
}

int
server(void)
{
    enum { MAXCYCLES = 100 };
    static struct state after[MAXCYCLES];
    struct state start, first, s = { 0 };
    char line[100];
    pthread_t th;
    int cycle = 0, ports[2];

    handlers();
    if (pthread_create(&th, NULL, nothing, NULL) != 0 || pthread_join(th, NULL) != 0)
        die("pthread_create");          /* from now on it has what it needs for threads at all */
    start = look();
    while (readline(0, line, sizeof line) && strcmp(line, "exit") != 0) {
        if (strcmp(line, "start") == 0) {
            servestart(ports);
            printf("ports %d %d\n", ports[0], ports[1]);
        } else {
            servestop();
            s = settle(&start);
            after[cycle < MAXCYCLES ? cycle++ : cycle - 1] = s;
            printf("clean %" PRIu64 ", at most %d threads, now %ld KB\n", (uint64_t)totals.clean, s.peak, s.pages);
        }
        fflush(stdout);
    }
    /* What malloc has in pieces, and the stacks of kernel threads, grow less and less: a leak goes on. The more threads at once,
     * the more free stacks are kept, two pages of each. */
    first = after[cycle / 2 > 0 ? cycle / 2 - 1 : 0];
    if (s.pages > first.pages + first.pages / 10 + 8192 + (s.peak > first.peak ? (s.peak - first.peak) * 12 : 0))
        fail("%ld KB after cycle %d, %ld KB after the last of %d", first.pages, cycle / 2 > 0 ? cycle / 2 : 1, s.pages, cycle);
    printf("server: %" PRIu64 " connections (%" PRIu64 " whole, %" PRIu64 " cut), %" PRIu64 " detached, %" PRIu64 " joined, "
           "%" PRIu64 " with two threads, at most %d threads, %" PRIu64 " MB each way, %" PRIu64 " signals handled, %" PRIu64 " EINTR, "
           "%" PRIu64 " + %" PRIu64 " timeouts in and out, %ld KB after half of the cycles, %ld KB after the last\n",
           (uint64_t)totals.accepted, (uint64_t)totals.clean, (uint64_t)(totals.cut + totals.stillborn), (uint64_t)totals.detached,
           (uint64_t)totals.joined, (uint64_t)totals.handoffs, s.peak, (uint64_t)(totals.bytes >> 20), (uint64_t)totals.signals,
           (uint64_t)totals.eintr, (uint64_t)totals.intimeouts, (uint64_t)totals.outtimeouts, first.pages, s.pages);
    return failures != 0;
}

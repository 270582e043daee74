/*
 * State that Linux keeps per thread stays with the thread that set it, across blocking calls, and is
 * inherited by the threads that it creates, not by others: CPU affinity, nice value, timer slack, working
 * directory after unshare(CLONE_FS), file-system uid.  sched_setaffinity(2), setpriority(2), prctl(2),
 * unshare(2), setfsuid(2).
 */
#include "conform.h"
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { PLAIN = 4 };

struct state {
    int cpus, nice, slack, moved, fsuid;
};

static struct state start;
static char home[4096];
static int stop, wrong, can_unshare, can_fsuid;

static struct state
now(void)
{
    struct state s;
    char dir[4096] = "";
    cpu_set_t set;

    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    s.cpus = CPU_COUNT(&set);
    errno = 0;
    s.nice = getpriority(PRIO_PROCESS, 0);
    s.slack = prctl(PR_GET_TIMERSLACK);
    s.moved = !getcwd(dir, sizeof dir) || strcmp(dir, home) != 0;
    s.fsuid = setfsuid((uid_t)-1);
    return s;
}

static int
same(struct state a, struct state b)
{
    return a.cpus == b.cpus && a.nice == b.nice && a.slack == b.slack && a.moved == b.moved && a.fsuid == b.fsuid;
}

static void *
plain(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        if (!same(now(), start))
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        msleep(1);
        sched_yield();
    }
    return NULL;
}

static void *
heir(void *arg)
{
    struct state *want = arg, got = now();

    printf("heir: affinity %d, nice %d, slack %d, directory %d, fsuid %d\n", got.cpus == want->cpus,
           got.nice == want->nice, got.slack == want->slack, got.moved == want->moved,
           got.fsuid == want->fsuid);
    return NULL;
}

static void *
special(void *arg)
{
    struct state set, got;
    cpu_set_t all, one;
    int i, changed = 0;

    (void)arg;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (i = 0; !CPU_ISSET(i, &all); i++)
        ;
    CPU_SET(i, &one);
    SYS(sched_setaffinity(0, sizeof one, &one));
    SYS(setpriority(PRIO_PROCESS, 0, 7));
    SYS(prctl(PR_SET_TIMERSLACK, 123456UL));
    can_unshare = unshare(CLONE_FS) == 0 && chdir("/") == 0;
    setfsuid(geteuid() == 0 ? 4321 : geteuid());
    set = now();
    can_fsuid = set.fsuid == 4321;
    printf("set: affinity %d, nice %d, slack %d\n", set.cpus == 1, set.nice == 7, set.slack == 123456);
    for (i = 0; i < 20; i++) {
        msleep(1);
        sched_yield();
        got = now();
        changed += !same(got, set);
    }
    printf("changed %d\n", changed);
    join(spawn(heir, &set));
    return NULL;
}

int
main(void)
{
    pthread_t t[PLAIN];
    int i;

    if (!getcwd(home, sizeof home) || strcmp(home, "/") == 0)
        SKIP("runs in no other directory than /");
    start = now();
    for (i = 0; i < PLAIN; i++)
        t[i] = spawn(plain, NULL);
    join(spawn(special, NULL));
    printf("main: %s\n", same(now(), start) ? "as at the start" : "changed");
    msleep(5);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (i = 0; i < PLAIN; i++)
        join(t[i]);
    printf("wrong in others %d, unshare %d, fsuid %d\n", wrong, can_unshare, can_fsuid);
    return conform_status();
}

/* GOSSAMER_STATS: what the scheduler has counted, when the process ends by exit(3). "1" means stderr, a path that
 * begins with a slash a file to append to. One write for all lines: several processes may share the file.
 */
#define _GNU_SOURCE 1
#include "wait/dump.h"
#include "base/env.h"
#include <fcntl.h>
#include <string.h>

static char where[256];         /* as the environment was at the start: programs write over theirs */

void
stats_boot(char **envp)
{
    const char *s = env_get(envp, "GOSSAMER_STATS");

    if (s == NULL || s[0] == '\0' || strcmp(s, "0") == 0)
        return;
    if ((strcmp(s, "1") != 0 && s[0] != '/') || strlen(s) >= sizeof where)
        print("gossamer: GOSSAMER_STATS=%s is neither 1 nor a path; ignored\n", strlen(s) < sizeof where ? s : "...");
    else
        memcpy(where, s, strlen(s) + 1);
}

static struct gossamer_counters
sum(void)
{
    struct gossamer_counters total = sched.count;
    uint64_t *to = (uint64_t *)(void *)&total;

    for (struct m *mp = load_acq(&sched.allms); mp != NULL; mp = mp->alllink) {
        const uint64_t *from = (const uint64_t *)(const void *)&mp->count;

        for (size_t i = 0; i < sizeof total / sizeof *to; i++)
            to[i] += from[i];
    }
    return total;
}

static size_t
line(char *buf, size_t size, const char *name, uint64_t n)
{
    return format(buf, size, "gossamer: stats: %s %l\n", name, (int64_t)n);
}

static size_t
lines(char *buf, size_t size)
{
    struct gossamer_counters c = sum();
    uint64_t blocks = 0, locked = 0;
    size_t n = 0;

    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink) {
        blocks++;
        locked += load_rlx(&gp->status) != Gdead && gp->lockedm != NULL;
    }
    {
        const struct { const char *name; uint64_t n; } all[] = {
            { "pid", (uint64_t)sys3(SYS_getpid, 0, 0, 0) }, { "gomaxprocs", (uint64_t)gomaxprocs },
            { "blocks", blocks }, { "locked", locked }, { "msmade", c.msmade }, { "msended", c.msended },
            { "switches", c.switches }, { "steals", c.steals }, { "handoffs", c.handoffs },
            { "unannounced", c.unannounced }, { "preempts", c.preempts }, { "preempted", c.preempted },
            { "deferred", c.deferred }, { "pollwakes", c.pollwakes }, { "rescued", c.rescued },
            { "scavenged", c.scavenged }, { "lock_scheduling", c.locks[GOSSAMER_LOCK_SCHEDULING] },
            { "lock_namespace", c.locks[GOSSAMER_LOCK_NAMESPACE] },
            { "lock_credentials", c.locks[GOSSAMER_LOCK_CREDENTIALS] }, { "lock_prctl", c.locks[GOSSAMER_LOCK_PRCTL] },
            { "lock_syscall", c.locks[GOSSAMER_LOCK_SYSCALL] }, { "lock_timer", c.locks[GOSSAMER_LOCK_TIMER] },
            { "lock_trace", c.locks[GOSSAMER_LOCK_TRACE] }, { "lock_mutex", c.locks[GOSSAMER_LOCK_MUTEX] },
        };

        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            n += line(buf + n, size - n, all[i].name, all[i].n);
    }
    return n;
}

/* Ours is the last destructor to run (-z initfirst). */
__attribute__((destructor)) static void
stats(void)
{
    char buf[2048];
    long fd = 2;

    if (!active || where[0] == '\0')
        return;
    if (where[0] == '/')
        fd = sys4(SYS_openat, AT_FDCWD, A(where), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        print("gossamer: GOSSAMER_STATS=%s cannot be opened: %s\n", where, strerrordesc_np((int)-fd));
        return;
    }
    sys3(SYS_write, fd, A(buf), A(lines(buf, sizeof buf)));
    if (fd != 2)
        sys3(SYS_close, fd, 0, 0);
}

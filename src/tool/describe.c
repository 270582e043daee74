/*
 * What a G does, in the words that Go's users know.
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

const char *
statename(const struct target *t, const struct gsnap *gp)
{
    switch (snap_status(gp)) {
    case GOSSAMER_RUNNABLE: return "runnable";
    case GOSSAMER_RUNNING: return "running";
    case GOSSAMER_SYSCALL: return "syscall";
    case GOSSAMER_DEAD: return "dead";
    case GOSSAMER_WAITING: break;
    default: return "idle";
    }
    /* a broadcast moved it to the mutex's queue */
    if (gp->requeued)
        for (size_t i = 0; i < 32; i++)
            if (t->l.waits[i].on == GOSSAMER_ON_MUTEX)
                return t->l.waits[i].name;
    return t->l.waits[gp->reason].name[0] != '\0' ? t->l.waits[gp->reason].name : "waiting";
}

/* Two units at most; what is below the clock's grain is nothing. */
const char *
duration(int64_t ns, char *buf, size_t size)
{
    int64_t s = ns / 1000000000, ms = ns / 1000000;

    if (ms < 1)
        snprintf(buf, size, "0s");
    else if (s < 1)
        snprintf(buf, size, "%ldms", ms);
    else if (s < 60)
        snprintf(buf, size, "%ld.%lds", s, ms / 100 % 10);
    else if (s < 3600)
        snprintf(buf, size, "%ldm%lds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(buf, size, "%ldh%ldm", s / 3600, s / 60 % 60);
    else
        snprintf(buf, size, "%ldd%ldh", s / 86400, s / 3600 % 24);
    return buf;
}

int64_t
waitedfor(const struct gsnap *gp)
{
    bool waits = gp->status == GOSSAMER_WAITING || gp->status == GOSSAMER_SYSCALL;

    return waits && gp->since > 0 && gp->at > gp->since ? gp->at - gp->since : 0;
}

/* ---- system calls ---- */

static const struct { long nr; const char *name; bool fd; } calls[] = {
#define CALL(name) { SYS_##name, #name, false }
#define FDCALL(name) { SYS_##name, #name, true }
    FDCALL(read), FDCALL(write), FDCALL(pread64), FDCALL(pwrite64), FDCALL(readv), FDCALL(writev), FDCALL(preadv),
    FDCALL(pwritev), FDCALL(preadv2), FDCALL(pwritev2), FDCALL(recvfrom), FDCALL(recvmsg), FDCALL(recvmmsg),
    FDCALL(sendto), FDCALL(sendmsg), FDCALL(sendmmsg), FDCALL(sendfile), FDCALL(accept), FDCALL(accept4),
    FDCALL(connect), FDCALL(fsync), FDCALL(fdatasync), FDCALL(flock), FDCALL(fcntl), FDCALL(ioctl), FDCALL(close),
    FDCALL(epoll_wait), FDCALL(epoll_pwait), FDCALL(epoll_pwait2), FDCALL(ftruncate), FDCALL(fallocate),
    FDCALL(getdents64), FDCALL(fstat), FDCALL(lseek),
    CALL(open), CALL(openat), CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(wait4), CALL(waitid),
    CALL(futex), CALL(nanosleep), CALL(clock_nanosleep), CALL(pause), CALL(rt_sigsuspend), CALL(rt_sigtimedwait),
    CALL(semop), CALL(semtimedop), CALL(msgrcv), CALL(msgsnd), CALL(mq_timedreceive), CALL(mq_timedsend),
    CALL(io_getevents), CALL(io_uring_enter), CALL(getrandom), CALL(mmap), CALL(munmap), CALL(madvise),
    CALL(mprotect), CALL(brk), CALL(unlink), CALL(rename), CALL(stat), CALL(newfstatat), CALL(execve), CALL(clone),
    CALL(clone3), CALL(vfork), CALL(fork), CALL(sync), CALL(syncfs), CALL(msync), CALL(sched_yield),
};

/* What the kernel thread is in: "read fd 3 /etc/passwd"; false: in none, it runs. */
static bool
callname(int pid, int tid, char *buf, size_t size)
{
    char path[64], line[256], what[PATH_MAX];
    unsigned long fd;
    long nr;
    FILE *f;
    int n;

    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
    if (pid == 0 || (f = fopen(path, "re")) == NULL)
        return false;
    n = fgets(line, sizeof line, f) != NULL ? sscanf(line, "%ld 0x%lx", &nr, &fd) : 0;
    fclose(f);
    if (n < 1 || nr < 0)
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].nr != nr)
            continue;
        if (!calls[i].fd || n < 2) {
            snprintf(buf, size, "%s", calls[i].name);
            return true;
        }
        fdname(pid, (int)fd, what, sizeof what);
        snprintf(buf, size, "%s fd %d %.200s", calls[i].name, (int)fd, what);
        return true;
    }
    snprintf(buf, size, "system call %ld", nr);
    return true;
}

/* ---- details ---- */

static void
ongoid(const struct target *t, uint64_t addr, char *buf, size_t size)
{
    int64_t goid;

    if (addr != 0 && target_read(t, addr + t->l.g.goid, &goid, sizeof goid))
        snprintf(buf, size, "goroutine %ld", goid);
}

static void
onmutex(const struct snap *s, const struct gsnap *gp, char *buf, size_t size)
{
    const uint64_t *i = gp->owner != 0 ? table_find(&s->bytid, (uint64_t)gp->owner) : NULL;

    if (i != NULL)
        snprintf(buf, size, "0x%lx, held by goroutine %ld", gp->object, s->gs[*i - 1].goid);
    else if (gp->owner != 0)
        snprintf(buf, size, "0x%lx, held by thread %d", gp->object, gp->owner);
    else
        snprintf(buf, size, "0x%lx", gp->object);
}

static void
onfd(const struct target *t, const struct gsnap *gp, char *buf, size_t size)
{
    char what[PATH_MAX];
    int fd = (int)(uint32_t)gp->waiton;
    uint32_t more = (uint32_t)(gp->waiton >> 32);
    size_t n;

    if (fd < 0) {
        snprintf(buf, size, "no fd");
        return;
    }
    fdname(t->pid, fd, what, sizeof what);
    n = (size_t)snprintf(buf, size, what[0] != '\0' ? "fd %d %.200s" : "fd %d", fd, what);
    if (more != 0 && n < size)
        snprintf(buf + n, size - n, " and %u more", more);
}

static void
onkernel(const struct target *t, const struct snap *s, const struct gsnap *gp, char *buf, size_t size)
{
    size_t n;

    if (gp->m < 0 || (gp->status == GOSSAMER_RUNNING && !gp->stolen))
        return;
    if (!callname(t->pid, s->ms[gp->m].tid, buf, size))
        buf[0] = '\0';
    n = strlen(buf);
    if (gp->stolen && n < size)
        snprintf(buf + n, size - n, "%sunannounced", n != 0 ? ", " : "");
}

void
describe(const struct target *t, const struct snap *s, const struct gsnap *gp, char *buf, size_t size)
{
    char when[32];

    buf[0] = '\0';
    if (gp->status != GOSSAMER_WAITING) {
        onkernel(t, s, gp, buf, size);
        return;
    }
    switch (t->l.waits[gp->reason].on) {
    case GOSSAMER_ON_ADDRESS:
    case GOSSAMER_ON_MUTEX:
        if (gp->object != 0)
            onmutex(s, gp, buf, size);
        break;
    case GOSSAMER_ON_JOIN:
        ongoid(t, gp->object, buf, size);
        break;
    case GOSSAMER_ON_FD:
        onfd(t, gp, buf, size);
        break;
    case GOSSAMER_ON_TIMER:
        if (gp->timer > gp->at)
            snprintf(buf, size, "for another %s", duration(gp->timer - gp->at, when, sizeof when));
        break;
    }
}

/* "waiting" is every wait; otherwise the name of the state, or its begin. */
bool
statematches(const struct target *t, const struct gsnap *gp, const char *filter)
{
    if (*filter != '\0' && strncasecmp("waiting", filter, strlen(filter)) == 0)
        return gp->status == GOSSAMER_WAITING;
    return strncasecmp(statename(t, gp), filter, strlen(filter)) == 0;
}

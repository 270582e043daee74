/*
 * System calls that take a thread id, used on another thread by what its gettid() said, while it waits:
 * affinity, scheduling policy and parameters, nice value, tgkill, its directory in /proc; an id that no thread has
 * gives ESRCH.  sched_setaffinity(2), sched_setscheduler(2), setpriority(2), tgkill(2).
 */
#include "conform.h"
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static sem_t told, again;
static pid_t tid;
static int handled;

static void
handler(int sig)
{
    (void)sig;
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
}

static void
show(const char *who)
{
    cpu_set_t set;

    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    errno = 0;
    printf("%s: cpus %s, policy %s, nice %d\n", who, CPU_COUNT(&set) == 1 ? "one" : "all",
           sched_getscheduler(0) == SCHED_BATCH ? "batch" : sched_getscheduler(0) == SCHED_OTHER ? "other" : "?",
           getpriority(PRIO_PROCESS, 0));
}

static void *
body(void *arg)
{
    __atomic_store_n(&tid, gettid(), __ATOMIC_RELEASE);
    sem_post(&told);
    while (sem_wait(&again) != 0)
        ;
    show("the thread");
    usleep(1000);
    show("after a sleep");
    return arg;
}

int
main(void)
{
    struct sched_param p = { 0 };
    cpu_set_t all, one, got;
    pthread_t t;
    size_t cpu = 0;

    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2)
        SKIP("one CPU");
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    signal(SIGUSR1, handler);
    sem_init(&told, 0, 0);
    sem_init(&again, 0, 0);
    t = spawn(body, NULL);
    while (sem_wait(&told) != 0)
        ;
    SYS(sched_setaffinity(tid, sizeof one, &one));
    SYS(sched_getaffinity(tid, sizeof got, &got));
    printf("equal %d\n", CPU_EQUAL(&one, &got) != 0);
    SYS(sched_setscheduler(tid, SCHED_BATCH, &p));
    printf("batch %d\n", sched_getscheduler(tid) == SCHED_BATCH);
    SYS(sched_getparam(tid, &p));
    printf("priority %d\n", p.sched_priority);
    SYS(setpriority(PRIO_PROCESS, (id_t)tid, 5));
    SYS(getpriority(PRIO_PROCESS, (id_t)tid));
    SYS(tgkill(getpid(), tid, 0));
    SYS(tgkill(getpid(), tid, SIGUSR1));
    SYS(syscall(SYS_tkill, tid, 0));
    SYS(syscall(SYS_tgkill, getpid(), tid, SIGUSR1));
    while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < 1)
        msleep(1);
    sem_post(&again);
    join(t);
    show("main");
    SYS(tgkill(getpid(), (1 << 28) - 5, 0));
    SYS(sched_getscheduler((1 << 28) - 5));
    SYS(sched_getaffinity((1 << 28) - 5, sizeof got, &got));
    return conform_status();
}

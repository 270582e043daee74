/*
 * Scheduling and affinity of another thread by its pthread_t: set affinity is what it then has itself, and
 * what its children have; pthread_setschedparam and pthread_setschedprio with SCHED_OTHER, wrong values, and what a
 * thread made with attributes (affinity, explicit policy) has.  pthread_setaffinity_np(3); POSIX.
 */
#include "conform.h"
#include <sched.h>
#include <semaphore.h>

static sem_t go, in;
static cpu_set_t all, one;

static void
show(const char *who)
{
    struct sched_param p = { -1 };
    cpu_set_t set;
    int policy = -1;

    CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
    OK(pthread_getschedparam(pthread_self(), &policy, &p));
    printf("%s: one cpu %d, policy %d, priority %d\n", who, CPU_EQUAL(&set, &one) != 0, policy, p.sched_priority);
}

static void *
leaf(void *arg)
{
    show((char *)arg);
    return arg;
}

static void *
body(void *arg)
{
    sem_post(&in);
    while (sem_wait(&go) != 0)
        ;
    show((char *)arg);
    usleep(500);
    show((char *)arg);
    join(spawn(leaf, "its child"));
    return arg;
}

int
main(void)
{
    struct sched_param p = { 0 }, bad = { 50 };
    pthread_attr_t a;
    pthread_t t;
    cpu_set_t got;
    size_t cpu = 0;
    int policy;

    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (CPU_COUNT(&all) < 2)
        SKIP("one CPU");
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sem_init(&go, 0, 0);
    sem_init(&in, 0, 0);
    t = spawn(body, "thread");
    while (sem_wait(&in) != 0)
        ;
    RC(pthread_setaffinity_np(t, sizeof one, &one));
    RC(pthread_getaffinity_np(t, sizeof got, &got));
    printf("equal %d\n", CPU_EQUAL(&got, &one) != 0);
    CPU_ZERO(&got);
    RC(pthread_setaffinity_np(t, sizeof got, &got));
    RC(pthread_setschedparam(t, SCHED_OTHER, &p));
    RC(pthread_setschedparam(t, SCHED_OTHER, &bad));
    RC(pthread_setschedparam(t, 77, &p));
    RC(pthread_setschedprio(t, 0));
    RC(pthread_setschedprio(t, 9));
    RC(pthread_getschedparam(t, &policy, &p));
    printf("policy %d\n", policy);
    sem_post(&go);
    join(t);
    show("main");

    OK(pthread_attr_init(&a));
    OK(pthread_attr_setaffinity_np(&a, sizeof one, &one));
    OK(pthread_create(&t, &a, leaf, "attribute affinity"));
    join(t);
    OK(pthread_attr_destroy(&a));
    OK(pthread_attr_init(&a));
    OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_setschedpolicy(&a, SCHED_OTHER));
    OK(pthread_create(&t, &a, leaf, "explicit"));
    join(t);
    OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    OK(pthread_attr_setschedparam(&a, &(struct sched_param){ 1 }));
    policy = pthread_create(&t, &a, leaf, "explicit FIFO");    /* who may not gets EPERM */
    if (policy == 0)
        join(t);
    printf("FIFO: %s\n", errname(policy));
    return conform_status();
}

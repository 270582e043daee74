/*
 * Every cancellation point that waits for time, a signal, a thread, a process or a queue: a thread that waits in
 * it is cancelled, its cleanup handler runs.  POSIX 2.9.5.2.
 */
#include "conform.h"
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>

static sem_t never;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_t target;
static pid_t child;
static int queue, cleaned, holds;
static mqd_t mqempty, mqfull;
static char buf[64];
static const struct timespec for_long = { 1000, 0 };

static struct timespec
far(void)
{
    return after_ms(CLOCK_REALTIME, 1000000);
}

static sigset_t
usr1(void)
{
    sigset_t s;

    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    return s;
}

static void
do_cond(void)
{
    pthread_mutex_lock(&m);
    holds = 1;
    pthread_cond_wait(&c, &m);
}

static void
do_timedcond(void)
{
    struct timespec ts = far();

    pthread_mutex_lock(&m);
    holds = 1;
    pthread_cond_timedwait(&c, &m, &ts);
}

static void
do_clockcond(void)
{
    struct timespec ts = after_ms(CLOCK_MONOTONIC, 1000000);

    pthread_mutex_lock(&m);
    holds = 1;
    pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &ts);
}

static void do_sleep(void) { sleep(1000); }
static void do_usleep(void) { usleep(900000000); }
static void do_nanosleep(void) { nanosleep(&for_long, NULL); }
static void do_clock(void) { clock_nanosleep(CLOCK_REALTIME, 0, &for_long, NULL); }
static void do_clockabs(void) { struct timespec ts = far(); clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL); }
static void do_pause(void) { pause(); }
static void do_sigsuspend(void) { sigset_t s; sigfillset(&s); sigsuspend(&s); }
static void do_sigwait(void) { sigset_t s = usr1(); int sig; sigwait(&s, &sig); }
static void do_sigwaitinfo(void) { sigset_t s = usr1(); sigwaitinfo(&s, NULL); }
static void do_sigtimedwait(void) { sigset_t s = usr1(); sigtimedwait(&s, NULL, &for_long); }
static void do_sem(void) { CHECK(sem_wait(&never) == 9); }
static void do_semtimed(void) { struct timespec ts = far(); CHECK(sem_timedwait(&never, &ts) == 9); }
static void do_semclock(void) { struct timespec ts = far(); CHECK(sem_clockwait(&never, CLOCK_REALTIME, &ts) == 9); }
static void do_join(void) { pthread_join(target, NULL); }
static void do_timedjoin(void) { struct timespec ts = far(); pthread_timedjoin_np(target, NULL, &ts); }
static void do_wait(void) { wait(NULL); }
static void do_waitpid(void) { waitpid(child, NULL, 0); }
static void do_waitid(void) { siginfo_t i; waitid(P_PID, (id_t)child, &i, WEXITED); }
static void do_system(void) { CHECK(system("sleep 1000") == 9); }
static void do_msgrcv(void) { msgrcv(queue, buf, sizeof buf - sizeof(long), 1, 0); }
static void do_msgsnd(void) { *(long *)(void *)buf = 2; msgsnd(queue, buf, sizeof buf - sizeof(long), 0); }
static void do_mqreceive(void) { mq_receive(mqempty, buf, sizeof buf, NULL); }
static void do_mqtimedreceive(void) { struct timespec ts = far(); mq_timedreceive(mqempty, buf, sizeof buf, NULL, &ts); }
static void do_mqsend(void) { mq_send(mqfull, buf, 1, 0); }
static void do_mqtimedsend(void) { struct timespec ts = far(); mq_timedsend(mqfull, buf, 1, 0, &ts); }

static const struct { const char *name; void (*fn)(void); } points[] = {
    { "sleep", do_sleep }, { "usleep", do_usleep }, { "nanosleep", do_nanosleep }, { "clock_nanosleep", do_clock },
    { "clock_nanosleep absolute", do_clockabs }, { "pause", do_pause }, { "sigsuspend", do_sigsuspend },
    { "sigwait", do_sigwait }, { "sigwaitinfo", do_sigwaitinfo }, { "sigtimedwait", do_sigtimedwait }, { "sem_wait", do_sem },
    { "sem_timedwait", do_semtimed }, { "sem_clockwait", do_semclock }, { "pthread_cond_wait", do_cond },
    { "pthread_cond_timedwait", do_timedcond }, { "pthread_cond_clockwait", do_clockcond }, { "pthread_join", do_join },
    { "pthread_timedjoin_np", do_timedjoin }, { "wait", do_wait }, { "waitpid", do_waitpid }, { "waitid", do_waitid },
    { "system", do_system }, { "msgrcv", do_msgrcv }, { "msgsnd", do_msgsnd }, { "mq_receive", do_mqreceive },
    { "mq_timedreceive", do_mqtimedreceive }, { "mq_send", do_mqsend }, { "mq_timedsend", do_mqtimedsend },
};

static void
cleanup(void *arg)
{
    (void)arg;
    if (holds)
        OK(pthread_mutex_unlock(&m));
    holds = 0;
    cleaned++;
}

static void *
body(void *arg)
{
    pthread_cleanup_push(cleanup, NULL);
    for (;;)
        points[(intptr_t)arg].fn();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *
untiltold(void *arg)
{
    while (sem_wait((sem_t *)arg) != 0)
        ;
    return arg;
}

static void
prepare(sem_t *told)
{
    struct mq_attr a = { .mq_maxmsg = 1, .mq_msgsize = 8 };
    char name[40];

    sem_init(&never, 0, 0);
    sem_init(told, 0, 0);
    target = spawn(untiltold, told);
    queue = msgget(IPC_PRIVATE, 0600);
    CHECK(queue >= 0);
    *(long *)(void *)buf = 2;
    while (msgsnd(queue, buf, sizeof buf - sizeof(long), IPC_NOWAIT) == 0)
        ;
    snprintf(name, sizeof name, "/conform-%d", (int)getpid());
    mqempty = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
    mq_unlink(name);
    mqfull = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
    mq_unlink(name);
    if (mqempty < 0 || mqfull < 0)
        SKIP("no message queues");
    CHECK(mq_send(mqfull, buf, 1, 0) == 0);
}

int
main(void)
{
    sigset_t set = usr1();
    sem_t told;
    pthread_t t;
    size_t i;

    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    child = fork();
    if (child == 0) {
        alarm(100);
        pause();
        _exit(0);
    }
    prepare(&told);
    for (i = 0; i < sizeof points / sizeof points[0]; i++) {
        cleaned = 0;
        t = spawn(body, (void *)i);
        msleep(15);
        OK(pthread_cancel(t));
        printf("%s: canceled %d, ", points[i].name, join(t) == PTHREAD_CANCELED);
        printf("cleaned %d\n", cleaned);
    }
    OK(pthread_mutex_trylock(&m));
    sem_post(&told);
    CHECK(join(target) == &told);
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    msgctl(queue, IPC_RMID, NULL);
    return conform_status();
}

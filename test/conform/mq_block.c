/*
 * POSIX message queues between threads: mq_receive waits on an empty queue, mq_send on a full one,
 * priorities order the messages, the timed calls end with ETIMEDOUT, mq_notify runs a function in a
 * thread.  POSIX mq_receive, mq_notify.
 */
#include "conform.h"
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>

static mqd_t q;
static int sent, notified;

static void *
receiver(void *arg)
{
    char buf[16] = "";
    unsigned prio = 0;
    ssize_t n;

    (void)arg;
    n = mq_receive(q, buf, sizeof buf, &prio);
    printf("received %zd \"%s\" priority %u\n", n, buf, prio);
    return NULL;
}

static void *
sender(void *arg)
{
    CHECK(mq_send(q, arg, strlen(arg) + 1, 9) == 0);
    __atomic_store_n(&sent, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void
onmessage(union sigval v)
{
    __atomic_store_n(&notified, v.sival_int, __ATOMIC_RELEASE);
}

int
main(void)
{
    struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = 16 };
    struct sigevent se = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 5 };
    struct timespec ts;
    char name[64], buf[16];
    pthread_t t;

    snprintf(name, sizeof name, "/conform-mq-%d", (int)getpid());
    q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    if (q == (mqd_t)-1)
        SKIP("no message queues");
    mq_unlink(name);
    t = spawn(receiver, NULL);
    msleep(20);
    CHECK(mq_send(q, "first", 6, 1) == 0);
    join(t);
    CHECK(mq_send(q, "low", 4, 0) == 0);
    CHECK(mq_send(q, "high", 5, 7) == 0);
    CHECK(mq_send(q, "middle", 7, 3) == 0);
    t = spawn(sender, (void *)"highest");
    msleep(20);
    printf("sender to the full queue: %s\n", __atomic_load_n(&sent, __ATOMIC_ACQUIRE) ? "through" : "waits");
    ts = after_ms(CLOCK_REALTIME, 20);
    SYS(mq_timedsend(q, "x", 2, 0, &ts));
    printf("%s\n", reached(CLOCK_REALTIME, &ts) ? "not early" : "early");
    receiver(NULL);
    join(t);
    receiver(NULL);
    receiver(NULL);
    receiver(NULL);
    ts = after_ms(CLOCK_REALTIME, 20);
    SYS(mq_timedreceive(q, buf, sizeof buf, NULL, &ts));
    printf("%s\n", reached(CLOCK_REALTIME, &ts) ? "not early" : "early");
    se.sigev_notify_function = onmessage;
    CHECK(mq_notify(q, &se) == 0);
    SYS(mq_notify(q, &se));
    CHECK(mq_send(q, "notify", 7, 2) == 0);
    while (!__atomic_load_n(&notified, __ATOMIC_ACQUIRE))
        msleep(1);
    printf("notified with %d\n", notified);
    receiver(NULL);
    mq_close(q);
    return conform_status();
}

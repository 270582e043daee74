/* connect to a listener whose queue is full: it waits; it is interrupted, also at once, timed out by SO_SNDTIMEO, cancelled; and 600 threads that wait
 * in it need no kernel thread each. Refused, already connected, nonblocking, and not a socket: as natively. */
#include "conform.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { MANY = 600 };

static struct sockaddr_in addr;
static int waits;               /* a socket that waits in connect; under no lock: one thread at a time */
static volatile sig_atomic_t ran;

static void onsig(int s) { (void)s; ran = 1; }

static int
listener(int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof addr;

    addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    CHECK(bind(fd, (void *)&addr, sizeof addr) == 0 && listen(fd, backlog) == 0);
    CHECK(getsockname(fd, (void *)&addr, &len) == 0);
    return fd;
}

static const char *
result(int r)
{
    return errname(r == 0 ? 0 : errno);
}

static void *
connects(void *arg)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), r;

    waits = fd;
    r = connect(fd, (void *)&addr, sizeof addr);
    if (arg != NULL) {
        CHECK(r == 0);
        close(fd);
    } else {
        printf("connect: %s\n", result(r));
    }
    return NULL;
}

static volatile int entered, returned;

static void *
interrupted(void *arg)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), r;

    entered = 1;
    r = connect(fd, (void *)&addr, sizeof addr);
    CHECK(r < 0 && errno == EINTR);
    returned = 1;
    close(fd);
    return arg;
}

/* A handler ends connect also while it has only begun; one signal in two may be too early. */
static void
atonce(void)
{
    enum { ROUNDS = 30 };
    int sent = 0;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_t th;

        entered = returned = 0;
        th = spawn(interrupted, NULL);
        while (!entered)
            sched_yield();
        while (!returned) {
            usleep(500);
            sent++;
            pthread_kill(th, SIGUSR1);
            for (int k = 0; k < 40 && !returned; k++)
                usleep(500);
        }
        join(th);
    }
    printf("interrupted at once: %d\n", sent < ROUNDS * 3 / 2);
}

static void
waiting(int l)
{
    struct timeval tv = { 0, 200000 }, back;
    socklen_t len = sizeof back;
    pthread_t th, all[MANY];
    void *ret;
    int full[2], fd, r;

    for (int i = 0; i < 2; i++) {       /* a queue of 0 takes one; the next is not answered */
        full[i] = socket(AF_INET, SOCK_STREAM, 0);
        fcntl(full[i], F_SETFL, O_NONBLOCK);
        connect(full[i], (void *)&addr, sizeof addr);
    }
    usleep(100000);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv) == 0);
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("timed out: %s\n", result(r));
    CHECK(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &back, &len) == 0);
    printf("timeout still %ld.%06ld\n", (long)back.tv_sec, (long)back.tv_usec);
    close(fd);

    CHECK(pthread_create(&th, NULL, connects, NULL) == 0);
    usleep(100000);
    pthread_kill(th, SIGUSR1);
    pthread_join(th, NULL);
    printf("handler ran: %d\n", ran);
    len = sizeof back;
    CHECK(getsockopt(waits, SOL_SOCKET, SO_SNDTIMEO, &back, &len) == 0);
    printf("timeout still %ld.%06ld\n", (long)back.tv_sec, (long)back.tv_usec);
    close(waits);

    atonce();
    CHECK(pthread_create(&th, NULL, connects, NULL) == 0);
    usleep(100000);
    pthread_cancel(th);
    pthread_join(th, &ret);
    printf("cancelled: %d\n", ret == PTHREAD_CANCELED);
    close(waits);

    for (int i = 0; i < MANY; i++)
        CHECK(pthread_create(&all[i], NULL, connects, all) == 0);
    usleep(300000);
    if (getenv("GOMAXPROCS") != NULL)
        CHECK(kernelthreads() < MANY * 3 / 4);
    listen(l, 1000);
    for (int i = 0; i < MANY; i++)
        pthread_join(all[i], NULL);
    printf("%d connected\n", MANY);
    close(full[0]);
    close(full[1]);
}

static void *
others(void *arg)
{
    struct pollfd p;
    int l = listener(10), fd = socket(AF_INET, SOCK_STREAM, 0), r, e;
    socklen_t len = sizeof e;

    r = connect(fd, (void *)&addr, sizeof addr);
    printf("first: %s\n", result(r));
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("second: %s\n", result(r));
    CHECK(write(fd, "x", 1) == 1);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("nonblocking: %s\n", result(r));
    p = (struct pollfd){ fd, POLLOUT, 0 };
    CHECK(poll(&p, 1, 5000) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) == 0);
    printf("then: %s\n", errname(e));
    close(fd);
    close(l);
    l = socket(AF_INET, SOCK_STREAM, 0);        /* bound, so that nobody else listens there */
    addr.sin_port = 0;
    len = sizeof addr;
    CHECK(bind(l, (void *)&addr, sizeof addr) == 0 && getsockname(l, (void *)&addr, &len) == 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("nobody there: %s\n", result(r));
    r = connect(fd, (void *)8, sizeof addr);
    printf("bad address: %s\n", result(r));
    close(fd);
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("closed: %s\n", result(r));
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    r = connect(fd, (void *)&addr, sizeof addr);
    printf("datagram: %s\n", result(r));
    close(fd);
    close(l);
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onsig };
    pthread_t th;
    int l;

    sigaction(SIGUSR1, &sa, NULL);
    CHECK(pthread_create(&th, NULL, others, NULL) == 0);
    pthread_join(th, NULL);
    l = listener(0);
    waiting(l);
    close(l);
    return conform_status();
}

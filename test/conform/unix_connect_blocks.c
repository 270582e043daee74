/*
 * connect to an AF_UNIX listener whose backlog is full waits until a connection is accepted; a non-blocking
 * one answers EAGAIN.  Linux unix(7), POSIX connect.
 */
#include "conform.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un sun;
static int connected;

static int
conn(int type)
{
    int s = socket(AF_UNIX, type, 0), e;

    e = connect(s, (struct sockaddr *)&sun, sizeof sun) == 0 ? 0 : errno;
    if (e != 0) {
        close(s);
        return -e;
    }
    return s;
}

static void *
waiting(void *arg)
{
    int s = conn(SOCK_STREAM);

    (void)arg;
    __atomic_store_n(&connected, 1, __ATOMIC_RELEASE);
    printf("connect: %s\n", errname(s < 0 ? -s : 0));
    return NULL;
}

int
main(void)
{
    pthread_t t;
    int l = socket(AF_UNIX, SOCK_STREAM, 0), i, s, a;

    sun.sun_family = AF_UNIX;
    strcpy(sun.sun_path, "conform.sock");
    unlink(sun.sun_path);
    CHECK(bind(l, (struct sockaddr *)&sun, sizeof sun) == 0);
    CHECK(listen(l, 1) == 0);
    for (i = 0; (s = conn(SOCK_STREAM | SOCK_NONBLOCK)) >= 0 && i < 100; i++)
        ;
    printf("connections before the queue is full: %d, then %s\n", i, errname(s < 0 ? -s : 0));
    t = spawn(waiting, NULL);
    msleep(30);
    printf("before accept: %s\n", __atomic_load_n(&connected, __ATOMIC_ACQUIRE) ? "connected" : "waiting");
    for (; i >= 0; i--) {
        a = accept(l, NULL, NULL);
        CHECK(a >= 0);
        close(a);
    }
    join(t);
    unlink(sun.sun_path);
    return conform_status();
}

/*
 * 20 threads wait in accept on one listener: each of 200 connections is served exactly once, and
 * shutdown of the listener wakes all of them with EINVAL.  POSIX accept; Linux tcp(7).
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { ACCEPTORS = 20, CONNECTIONS = 200 };

static struct sockaddr_in sin;
static int lfd, served, ended[2];

static void *
acceptor(void *arg)
{
    int fd;

    (void)arg;
    while ((fd = accept(lfd, NULL, NULL)) >= 0) {
        __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
        CHECK(write(fd, "!", 1) == 1);
        close(fd);
    }
    __atomic_fetch_add(&ended[errno == EINVAL], 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
client(void *arg)
{
    int i, n = (int)(intptr_t)arg;

    for (i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        char buf[4];

        CHECK(connect(fd, (struct sockaddr *)&sin, sizeof sin) == 0);
        CHECK(recv(fd, buf, sizeof buf, MSG_WAITALL) == 1);
        close(fd);
    }
    return NULL;
}

int
main(void)
{
    pthread_t a[ACCEPTORS], c[4];
    socklen_t len = sizeof sin;
    int i;

    lfd = socket(AF_INET, SOCK_STREAM, 0);
    sin.sin_family = AF_INET;
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(lfd, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(lfd, 128) == 0);
    CHECK(getsockname(lfd, (struct sockaddr *)&sin, &len) == 0);
    for (i = 0; i < ACCEPTORS; i++)
        a[i] = spawn(acceptor, NULL);
    msleep(20);
    for (i = 0; i < 4; i++)
        c[i] = spawn(client, (void *)(intptr_t)(CONNECTIONS / 4));
    for (i = 0; i < 4; i++)
        join(c[i]);
    CHECK(shutdown(lfd, SHUT_RDWR) == 0);
    for (i = 0; i < ACCEPTORS; i++)
        join(a[i]);
    printf("served %d, ended by EINVAL %d, otherwise %d\n", served, ended[1], ended[0]);
    return conform_status();
}

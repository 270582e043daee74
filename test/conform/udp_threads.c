/*
 * Four threads ask a UDP server thread with sendto and recvfrom, 500 times each: every answer comes to who
 * asked, with the server's address; a connected socket to a closed port gets ECONNREFUSED.
 * POSIX sendto, recvfrom; Linux udp(7).
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { CLIENTS = 4, ASKS = 500 };

static struct sockaddr_in server;
static int sfd, answers;

static int
bound(struct sockaddr_in *sin)
{
    socklen_t len = sizeof *sin;
    int s = socket(AF_INET, SOCK_DGRAM, 0);

    memset(sin, 0, sizeof *sin);
    sin->sin_family = AF_INET;
    sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(s, (struct sockaddr *)sin, sizeof *sin) == 0);
    CHECK(getsockname(s, (struct sockaddr *)sin, &len) == 0);
    return s;
}

static void *
serve(void *arg)
{
    int i;

    (void)arg;
    for (i = 0; i < CLIENTS * ASKS; i++) {
        struct sockaddr_in from;
        socklen_t len = sizeof from;
        uint32_t v;

        CHECK(recvfrom(sfd, &v, sizeof v, 0, (struct sockaddr *)&from, &len) == sizeof v);
        v = ~v;
        CHECK(sendto(sfd, &v, sizeof v, 0, (struct sockaddr *)&from, len) == sizeof v);
    }
    return NULL;
}

static void *
ask(void *arg)
{
    struct sockaddr_in me, from;
    uint32_t id = (uint32_t)(intptr_t)arg, i;
    int s = bound(&me);

    for (i = 0; i < ASKS; i++) {
        uint32_t v = id << 16 | i;
        socklen_t len = sizeof from;

        CHECK(sendto(s, &v, sizeof v, 0, (struct sockaddr *)&server, sizeof server) == sizeof v);
        CHECK(recvfrom(s, &v, sizeof v, 0, (struct sockaddr *)&from, &len) == sizeof v);
        if (v == ~(id << 16 | i) && from.sin_port == server.sin_port)
            __atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
    }
    close(s);
    return NULL;
}

static void *
refused(void *arg)
{
    struct sockaddr_in gone;
    int s, c = bound(&gone);
    char b;

    (void)arg;
    s = socket(AF_INET, SOCK_DGRAM, 0);
    close(c);
    CHECK(connect(s, (struct sockaddr *)&gone, sizeof gone) == 0);
    SYS(send(s, "x", 1, 0));
    SYS(recv(s, &b, 1, 0));
    return NULL;
}

int
main(void)
{
    pthread_t s, c[CLIENTS];
    int i;

    sfd = bound(&server);
    s = spawn(serve, NULL);
    for (i = 0; i < CLIENTS; i++)
        c[i] = spawn(ask, (void *)(intptr_t)i);
    for (i = 0; i < CLIENTS; i++)
        join(c[i]);
    join(s);
    printf("answers %d\n", answers);
    join(spawn(refused, NULL));
    return conform_status();
}

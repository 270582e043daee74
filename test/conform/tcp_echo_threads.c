/*
 * An echo server with a thread per connection and 50 client threads at once: every client gets back what
 * it sent, in pieces of all sizes.  POSIX accept, connect, send, recv.
 */
#include "conform.h"
#include <netinet/in.h>
#include <sys/socket.h>

enum { CLIENTS = 50, BYTES = 20000 };

static struct sockaddr_in sin;
static int lfd, good;
static unsigned long total;

static void *
serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char buf[3000];
    ssize_t n, done, m;

    while ((n = read(fd, buf, sizeof buf)) > 0) {
        for (done = 0; done < n; done += m) {
            m = write(fd, buf + done, (size_t)(n - done));
            CHECK(m > 0);
            if (m <= 0)
                break;
        }
        __atomic_fetch_add(&total, (unsigned long)n, __ATOMIC_RELAXED);
    }
    CHECK(n == 0);
    close(fd);
    return NULL;
}

static void *
server(void *arg)
{
    pthread_t t[CLIENTS];
    int i;

    (void)arg;
    for (i = 0; i < CLIENTS; i++) {
        int fd = accept(lfd, NULL, NULL);

        CHECK(fd >= 0);
        t[i] = spawn(serve, (void *)(intptr_t)fd);
    }
    for (i = 0; i < CLIENTS; i++)
        join(t[i]);
    return NULL;
}

static void *
client(void *arg)
{
    int id = (int)(intptr_t)arg, fd = socket(AF_INET, SOCK_STREAM, 0), step;
    unsigned char out[997], in[997];
    int sent = 0, wrong = 0, i;

    CHECK(connect(fd, (struct sockaddr *)&sin, sizeof sin) == 0);
    while (sent < BYTES) {
        step = 1 + (sent * 31 + id * 7) % (int)sizeof out;
        if (step > BYTES - sent)
            step = BYTES - sent;
        for (i = 0; i < step; i++)
            out[i] = (unsigned char)((sent + i) * (id + 3) >> 2);
        CHECK(send(fd, out, (size_t)step, 0) == step);
        CHECK(recv(fd, in, (size_t)step, MSG_WAITALL) == step);
        wrong += memcmp(in, out, (size_t)step) != 0;
        sent += step;
    }
    close(fd);
    if (!wrong)
        __atomic_fetch_add(&good, 1, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    pthread_t s, c[CLIENTS];
    socklen_t len = sizeof sin;
    int i;

    lfd = socket(AF_INET, SOCK_STREAM, 0);
    sin.sin_family = AF_INET;
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(lfd, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(lfd, 128) == 0);
    CHECK(getsockname(lfd, (struct sockaddr *)&sin, &len) == 0);
    s = spawn(server, NULL);
    for (i = 0; i < CLIENTS; i++)
        c[i] = spawn(client, (void *)(intptr_t)i);
    for (i = 0; i < CLIENTS; i++)
        join(c[i]);
    join(s);
    printf("clients %d, good %d, bytes %lu\n", CLIENTS, good, total);
    return conform_status();
}

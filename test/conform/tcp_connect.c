/*
 * connect in threads: ECONNREFUSED without a listener, success before accept with one, EISCONN the second
 * time, EINPROGRESS or success for a non-blocking socket and its result in SO_ERROR.  POSIX connect.
 */
#include "conform.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static struct sockaddr_in sin;

static int
listener(void)
{
    socklen_t len = sizeof sin;
    int s = socket(AF_INET, SOCK_STREAM, 0);

    memset(&sin, 0, sizeof sin);
    sin.sin_family = AF_INET;
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(s, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(getsockname(s, (struct sockaddr *)&sin, &len) == 0);
    return s;
}

/* The outcome of a non-blocking connect. */
static int
outcome(int s)
{
    struct pollfd p = { s, POLLOUT, 0 };
    socklen_t len = sizeof(int);
    int e = connect(s, (struct sockaddr *)&sin, sizeof sin) == 0 ? 0 : errno;

    if (e == EINPROGRESS) {
        CHECK(poll(&p, 1, 5000) == 1);
        CHECK(getsockopt(s, SOL_SOCKET, SO_ERROR, &e, &len) == 0);
    }
    return e;
}

static void *
body(void *arg)
{
    int l = *(int *)arg, s = socket(AF_INET, SOCK_STREAM, 0), n;

    printf("bound, not listening: %s\n",
           errname(connect(s, (struct sockaddr *)&sin, sizeof sin) == 0 ? 0 : errno));
    n = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    printf("the same, non-blocking: %s\n", errname(outcome(n)));
    CHECK(listen(l, 8) == 0);
    s = socket(AF_INET, SOCK_STREAM, 0);
    SYS(connect(s, (struct sockaddr *)&sin, sizeof sin));
    SYS(connect(s, (struct sockaddr *)&sin, sizeof sin));
    n = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    printf("non-blocking: %s\n", errname(outcome(n)));
    printf("flags: %s, %s\n", fcntl(s, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking",
           fcntl(n, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking");
    CHECK(accept(l, NULL, NULL) >= 0);
    CHECK(accept(l, NULL, NULL) >= 0);
    SYS(connect(-1, (struct sockaddr *)&sin, sizeof sin));
    SYS(connect(1, (struct sockaddr *)&sin, sizeof sin));
    return NULL;
}

int
main(void)
{
    int l = listener();

    join(spawn(body, &l));
    return conform_status();
}

/*
 * A handler in a thread that waits in read, recv, accept, write or waitpid: EINTR without SA_RESTART, and
 * with it the call goes on and succeeds.  signal(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static volatile sig_atomic_t handled;
static int p[2], full[2], s[2], l, done, gate[2];
static pid_t child;
static struct sockaddr_in sin;

static void
handler(int sig)
{
    (void)sig;
    handled++;
}

static int
call(int which)
{
    char c;

    switch (which) {
    case 0: return (int)read(p[0], &c, 1);
    case 1: return (int)recv(s[0], &c, 1, 0);
    case 2: return accept(l, NULL, NULL) >= 0 ? 1 : -1;
    case 3: return (int)write(full[1], "x", 1);
    default: return waitpid(child, NULL, 0) == child ? 1 : -1;
    }
}

static void *
waiter(void *arg)
{
    static const char *const name[] = { "read", "recv", "accept", "write", "waitpid" };
    int which = *(int *)arg, r = call(which);

    printf("%s: %d %s, handler %s\n", name[which], r, errname(r < 0 ? errno : 0), handled ? "ran" : "did not run");
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Lets the call that waits go on. */
static void
satisfy(int which)
{
    static char buf[65536];
    int c;

    switch (which) {
    case 0: CHECK(write(p[1], "x", 1) == 1); break;
    case 1: CHECK(write(s[1], "x", 1) == 1); break;
    case 2:
        c = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(connect(c, (struct sockaddr *)&sin, sizeof sin) == 0);
        break;
    case 3: CHECK(read(full[0], buf, sizeof buf) > 0); break;
    default: close(gate[1]); break;
    }
}

static void
setup(void)
{
    static char buf[65536];
    socklen_t len = sizeof sin;

    CHECK(pipe(p) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
    l = socket(AF_INET, SOCK_STREAM, 0);
    memset(&sin, 0, sizeof sin);
    sin.sin_family = AF_INET;
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(l, (struct sockaddr *)&sin, sizeof sin) == 0);
    CHECK(listen(l, 8) == 0);
    CHECK(getsockname(l, (struct sockaddr *)&sin, &len) == 0);
    CHECK(pipe(full) == 0);
    CHECK(fcntl(full[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(full[1], buf, sizeof buf) > 0)
        ;
    CHECK(fcntl(full[1], F_SETFL, 0) == 0);
    CHECK(pipe(gate) == 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        char c;

        close(gate[1]);
        _exit((int)read(gate[0], &c, 1));
    }
}

int
main(void)
{
    int flags, which, i;

    for (flags = 0; flags < 2; flags++) {
        struct sigaction sa = { .sa_handler = handler, .sa_flags = flags ? SA_RESTART : 0 };

        CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
        printf("%s SA_RESTART\n", flags ? "with" : "without");
        setup();
        for (which = 0; which < 5; which++) {
            pthread_t t;

            handled = done = 0;
            t = spawn(waiter, &which);
            for (i = 0; flags ? i < 3 : !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++) {
                msleep(10);
                if (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
                    pthread_kill(t, SIGUSR1);
            }
            if (flags)
                satisfy(which);
            join(t);
        }
        if (!flags) {
            satisfy(4);
            CHECK(waitpid(child, NULL, 0) == child);
        }
    }
    return conform_status();
}

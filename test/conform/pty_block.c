/*
 * A terminal: a read waits for a whole line, end-of-file and interrupt characters do their work, VMIN 0
 * with VTIME times out, output is processed, and the flags stay blocking.  POSIX 11 General Terminal
 * Interface; pty(7).
 */
#include "conform.h"
#include <fcntl.h>
#include <termios.h>

static int master, slave, lines;

static void *
reader(void *arg)
{
    char buf[32];
    ssize_t n;

    (void)arg;
    while ((n = read(slave, buf, sizeof buf)) > 0) {
        printf("line: %zd \"%.*s\"\n", n, (int)n - 1, buf);
        __atomic_fetch_add(&lines, 1, __ATOMIC_RELEASE);
    }
    printf("end: %zd\n", n);
    return NULL;
}

static void *
late(void *arg)
{
    msleep(20);
    CHECK(write(slave, arg, strlen(arg)) == (ssize_t)strlen(arg));
    return NULL;
}

static void
feed(const char *s)
{
    CHECK(write(master, s, strlen(s)) == (ssize_t)strlen(s));
}

int
main(void)
{
    struct timespec until;
    struct termios tio;
    char buf[32] = "";
    pthread_t t;
    ssize_t n;

    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        SKIP("no pseudo terminals");
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0)
        SKIP("the pseudo terminal cannot be opened");
    CHECK(tcgetattr(slave, &tio) == 0);
    tio.c_lflag &= ~(tcflag_t)ECHO;
    tio.c_lflag |= ICANON;
    CHECK(tcsetattr(slave, TCSANOW, &tio) == 0);
    t = spawn(reader, NULL);
    msleep(10);
    feed("hal");
    msleep(10);
    printf("lines before the newline: %d\n", __atomic_load_n(&lines, __ATOMIC_ACQUIRE));
    feed("f\n");
    while (__atomic_load_n(&lines, __ATOMIC_ACQUIRE) < 1)
        msleep(1);
    feed("typx\177o\n");
    while (__atomic_load_n(&lines, __ATOMIC_ACQUIRE) < 2)
        msleep(1);
    feed("\004");
    join(t);

    t = spawn(late, (void *)"out\n");
    n = read(master, buf, sizeof buf - 1);
    printf("master: %zd \"%s\"\n", n, strcmp(buf, "out\r\n") == 0 ? "out, return, newline" : "something else");
    join(t);

    tio.c_lflag &= ~(tcflag_t)ICANON;
    tio.c_cc[VMIN] = 0;
    tio.c_cc[VTIME] = 1;
    CHECK(tcsetattr(slave, TCSANOW, &tio) == 0);
    until = after_ms(CLOCK_MONOTONIC, 90);
    SYS(read(slave, buf, 4));
    printf("%s\n", reached(CLOCK_MONOTONIC, &until) ? "not early" : "early");
    printf("terminal: %d, %s\n", isatty(slave), fcntl(slave, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking");
    close(slave);
    SYS(read(master, buf, 4));
    return conform_status();
}

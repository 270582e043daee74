/* A soak: many TCP connections that open, talk and close at random, a thread for each in the server, with signals and timeouts
 * all the time; and then nothing may be left over and nothing lost.
 *
 * usage: soak [-n CONNECTIONS] [-c CYCLES] [-s SEED] [-w STALL] [-f FAULT] [-x LOOK] SECONDS [COMMAND ARGS...]
 *
 * This process is the client, one thread around epoll. It starts itself as the server, as COMMAND ARGS... soak -S ..., without
 * a COMMAND natively, tells it by a pipe what to do, and counts what it says. The server (soak_server.c, soak_conn.c) is a plain
 * pthread program. It is up to COMMAND what its threads are.
 *
 * The SECONDS are divided into CYCLES (2, or one a minute). In each the connections come up to CONNECTIONS (10,000), are closed
 * and replaced all the time, and end at last. Status 0 if all of these held, else there are lines with FAIL:
 * each byte came back, verified at both ends, and both ends have the same sums; no connection stood still for STALL
 * seconds (60) while something was to come; calls failed with nothing but EINTR, a timeout that was set, or
 * because the client cut the connection. And after each cycle the server has as many descriptors and threads as at the start,
 * and after the last no more memory than after half of the cycles, but for a tenth and 8 MB.
 *
 * LOOK is run as `LOOK drained PID` when the server's threads have all ended, and must succeed; and as `LOOK stalled PID`
 * before a server that hangs is killed. FAULT: flip, lose, fd, page, thread, hang or edge, made on purpose.
 * The same SEED makes the same connections; what they do to each other is up to the scheduler.
 */
#include "soak.h"
#include <poll.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct options options = { .connections = 10000, .stall = 60 };
_Atomic int failures;
static const char *const faults[] = { "none", "flip", "lose", "fd", "page", "thread", "hang", "edge", NULL };
static const char *role = "client";

uint64_t
mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

uint64_t
rnd(uint64_t *state, uint64_t n)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return n == 0 ? 0 : (mix(*state) >> 11) % n;
}

int64_t
now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void
say(const char *fmt, va_list ap)
{
    char line[400];
    int n = snprintf(line, sizeof line, "FAIL %s: ", role);

    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    (void)!write(2, line, (size_t)n);
}

void
fail(const char *fmt, ...)
{
    va_list ap;

    if (atomic_fetch_add(&failures, 1) >= 20)
        return;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void
die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    _exit(2);
}

static uint64_t
word(uint64_t seed, uint64_t i)
{
    return mix(seed + i * UINT64_C(0x9E3779B97F4A7C15));
}

void
pattern(uint64_t seed, uint64_t off, unsigned char *buf, size_t n)
{
    for (; n > 0 && off % 8 != 0; n--, off++)
        *buf++ = (unsigned char)(word(seed, off / 8) >> off % 8 * 8);
    for (; n >= 8; n -= 8, off += 8, buf += 8) {
        uint64_t w = word(seed, off / 8);

        memcpy(buf, &w, 8);
    }
    for (; n > 0; n--, off++)
        *buf++ = (unsigned char)(word(seed, off / 8) >> off % 8 * 8);
}

uint64_t
placesum(uint64_t off, const unsigned char *buf, size_t n)
{
    uint64_t s = 0;

    for (; n > 0 && off % 8 != 0; n--, off++)
        s += ((uint64_t)*buf++ << off % 8 * 8) * (off / 8 * 2 + 1);
    for (; n >= 8; n -= 8, off += 8, buf += 8) {
        uint64_t w;

        memcpy(&w, buf, 8);
        s += w * (off / 8 * 2 + 1);
    }
    for (; n > 0; n--, off++)
        s += ((uint64_t)*buf++ << off % 8 * 8) * (off / 8 * 2 + 1);
    return s;
}

void
flip(unsigned char *buf, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf[i] ^= FLIP;
}

bool
readline(int fd, char *buf, size_t size)
{
    size_t n = 0;

    while (n + 1 < size) {
        ssize_t r = read(fd, buf + n, 1);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return false;
        if (buf[n] == '\n')
            break;
        n++;
    }
    buf[n] = '\0';
    return true;
}

static int commands;            /* the server's standard input */

static void
spawn(char **command, int n, char *self)
{
    int to[2], from[2], argc = 0;
    char seed[30], connections[20], stall[20];
    char **argv = calloc((size_t)n + 20, sizeof *argv);

    snprintf(seed, sizeof seed, "%" PRIu64, options.seed);
    snprintf(connections, sizeof connections, "%d", options.connections);
    snprintf(stall, sizeof stall, "%d", options.stall);
    for (int i = 0; i < n; i++)
        argv[argc++] = command[i];
    for (char **arg = (char *[]){ self, n == 0 ? "-SN" : "-S", "-s", seed, "-n", connections, "-w", stall, "-f",
                                  (char *)(uintptr_t)faults[options.fault], "0", NULL }; *arg != NULL; arg++)
        argv[argc++] = *arg;
    if (pipe2(to, 0) != 0 || pipe2(from, 0) != 0)
        die("pipe: %s", strerror(errno));
    if ((options.server = fork()) == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close_range(3, ~0u, 0);
        execvp(argv[0], argv);
        die("%s: %s", argv[0], strerror(errno));
    }
    close(to[0]);
    close(from[1]);
    commands = to[1];
    options.from = from[0];
    free(argv);
}

static bool
ask(const char *command, char *answer, size_t size)
{
    struct pollfd pf = { options.from, POLLIN, 0 };

    if (write(commands, command, strlen(command)) != (ssize_t)strlen(command))
        fail("the server has gone");
    else if (poll(&pf, 1, (options.stall + 60) * 1000) != 1)
        fail("the server does not answer to: %.5s", command);
    else if (readline(options.from, answer, size))
        return true;
    else
        fail("the server has ended before its time");
    return false;
}

static bool
cycle(void)
{
    char line[200];
    uint64_t clean;
    int ports[2];

    if (!ask("start\n", line, sizeof line) || sscanf(line, "ports %d %d", &ports[0], &ports[1]) != 2)
        return false;
    if (!load(ports, options.seconds / options.cycles) || !ask("stop\n", line, sizeof line))
        return false;
    printf("client: %" PRIu64 " opened, at most %d at once; server: %s\n", counts.opened, counts.most, line);
    if (sscanf(line, "clean %" SCNu64, &clean) != 1 || clean != counts.clean)
        fail("%" PRIu64 " connections were whole here, but the server says: %s", counts.clean, line);
    return true;
}

static int
looker(const char *program, const char *what)
{
    char pid[20];
    int status = 0;
    pid_t child;

    if (program == NULL)
        return 0;
    snprintf(pid, sizeof pid, "%d", options.server);
    fflush(stdout);
    if ((child = fork()) == 0) {
        execlp(program, program, what, pid, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return status;
}

static int
client(char **command, int n, char *self, const char *lookat)
{
    char line[600];
    int status = 0;
    bool ok = true;

    signal(SIGPIPE, SIG_IGN);
    spawn(command, n, self);
    for (int i = 0; i < options.cycles && ok; i++)
        ok = cycle();
    if (ok && looker(lookat, "drained") != 0)
        fail("after all threads have ended: see above");
    if (ok && (ok = ask("exit\n", line, sizeof line)))
        printf("%s\n", line);
    if (!ok) {
        looker(lookat, "stalled");
        kill(options.server, SIGKILL);
    }
    waitpid(options.server, &status, 0);
    if (status != 0)
        fail("the server ended with %s %d", WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    printf("client: %" PRIu64 " connections (%" PRIu64 " whole, %" PRIu64 " cut), at most %d at once, %" PRIu64 " messages, "
           "%" PRIu64 " MB back; seed %" PRIu64 "\n", counts.opened, counts.clean, counts.cut, counts.most, counts.messages, counts.bytes >> 20,
           options.seed);
    return failures != 0;
}

/* As many descriptors as it takes, or fewer connections. The server has some that the client has closed already. */
static void
limits(void)
{
    struct rlimit lim;
    rlim_t want = (rlim_t)options.connections * 3 / 2 + 200, need = (rlim_t)options.connections * 11 / 10 + 200;

    if (getrlimit(RLIMIT_NOFILE, &lim) != 0)
        die("getrlimit: %s", strerror(errno));
    if (lim.rlim_max < want && setrlimit(RLIMIT_NOFILE, &(struct rlimit){ want, want }) == 0)
        return;
    lim.rlim_cur = lim.rlim_max < want ? lim.rlim_max : want;
    if (setrlimit(RLIMIT_NOFILE, &lim) != 0)
        die("setrlimit: %s", strerror(errno));
    if (lim.rlim_cur < need) {
        options.connections = lim.rlim_cur > 300 ? (int)((lim.rlim_cur - 200) * 10 / 11) : 1;
        printf("client: only %d connections: the limit of descriptors is %lu\n", options.connections, (unsigned long)lim.rlim_cur);
    }
}

int
main(int argc, char **argv)
{
    bool isserver = false;
    const char *lookat = NULL;
    int opt;

    options.seed = (uint64_t)time(NULL);
    while ((opt = getopt(argc, argv, "+n:c:s:w:f:x:SN")) != -1)
        switch (opt) {
        case 'n': options.connections = atoi(optarg); break;
        case 'c': options.cycles = atoi(optarg); break;
        case 's': options.seed = strtoull(optarg, NULL, 10); break;
        case 'w': options.stall = atoi(optarg); break;
        case 'x': lookat = optarg; break;
        case 'S': isserver = true; break;
        case 'N': options.native = true; break;
        case 'f':
            while (faults[options.fault] != NULL && strcmp(faults[options.fault], optarg) != 0)
                options.fault++;
            if (faults[options.fault] != NULL)
                break;
            __attribute__((fallthrough));
        default: optind = argc;
        }
    if (optind == argc || options.connections < 1 || options.stall < 1) {
        fprintf(stderr, "usage: soak [-n CONNECTIONS] [-c CYCLES] [-s SEED] [-w STALL] [-f FAULT] [-x LOOK] SECONDS [COMMAND ARGS...]\n");
        return 2;
    }
    if (isserver) {
        role = "server";
        return server();
    }
    options.seconds = atof(argv[optind]);
    if (options.cycles < 1)
        options.cycles = options.seconds > 120 ? (int)(options.seconds / 60) : 2;
    limits();
    return client(argv + optind + 1, argc - optind - 1, argv[0], lookat);
}

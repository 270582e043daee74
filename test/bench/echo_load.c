/*
 * The load for an echo server: one thread, one epoll, N connections with one message of 64 bytes under way on each.
 * usage: echo_load [-n CONNECTIONS] [-w WARMUP_MS] [-t MS] [-c CPU] SERVER [ARGUMENTS]
 * Starts the server (echo_server.c says what it must print), opens the connections, each with a first message so that
 * the server has its threads; lets it run for the warm-up, measures, and prints one "name<TAB>value" a line. Each byte
 * that comes back is checked. -c is the CPU that the load itself is pinned to (none).
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* PERADDRESS: connections from one source address. It has about 28,000 ports, but the kernel hands out the odd or the
 * even ones first, and then searches long for each of the others. */
enum { MSG = 64, WORDS = MSG / 8, BATCH = 512, ATONCE = 256, PERADDRESS = 10000, LIMIT = 240 };

struct conn {
	int fd;			/* -1: the server has closed it */
	uint32_t got;		/* bytes of the answer so far */
	uint64_t seq;		/* number of the message under way */
	int64_t sent;		/* when, ns */
	uint64_t in[WORDS + 1];	/* one more: an answer that is too long is noticed */
};

/* Latencies in ns: SUB buckets to each power of two, so that a figure is right to 2 %. */
enum { SUBBITS = 6, SUB = 1 << SUBBITS, BUCKETS = 40 * SUB };

static struct conn *conn;
static long nconn = 100, refused, underway, requests;
static uint64_t hist[BUCKETS];
static int epfd, port;
static int sending = 1, measuring;
static pid_t server;
static FILE *toserver, *fromserver;

struct usage { long cpu, user, kthreads; };	/* of the server, as it says: us, KB */

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "echo_load: %s: %s\n", what, errno != 0 ? strerror(errno) : "failed");
	exit(1);
}

static int64_t
clockns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		die("a clock");
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t
now(void)
{
	return clockns(CLOCK_MONOTONIC);
}

/* ---- the histogram ---- */

static void
record(int64_t ns)
{
	int top;

	if (ns < SUB) {
		hist[ns < 0 ? 0 : ns]++;
		return;
	}
	top = 63 - __builtin_clzll((unsigned long long)ns);
	top = top - SUBBITS < 38 ? top : SUBBITS + 38;
	hist[(top - SUBBITS + 1) * SUB + ((ns >> (top - SUBBITS)) & (SUB - 1))]++;
}

/* The latency that a share q of all stay below, us. */
static double
quantile(double q)
{
	uint64_t sum = 0, want = 0;
	long i;

	for (i = 0; i < BUCKETS; i++)
		want += hist[i];
	want = (uint64_t)((double)want * q);
	for (i = 0; i < BUCKETS; i++)
		if ((sum += hist[i]) > want)
			break;
	return i < SUB ? (double)i / 1e3 : (double)((uint64_t)(SUB + i % SUB) << (i / SUB - 1)) / 1e3;
}

/* ---- the server's process ---- */

/* With pipes as its stdin and stdout; it ends when we do, since its stdin then does. */
static void
startserver(char **argv)
{
	int in[2], out[2];
	char line[128];

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (server = fork()) < 0)
		die("starting the server");
	if (server == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], argv);
		die(argv[0]);
	}
	close(in[0]);
	close(out[1]);
	toserver = fdopen(in[1], "w");
	fromserver = fdopen(out[0], "r");
	errno = 0;
	if (fgets(line, sizeof line, fromserver) == NULL || sscanf(line, "port\t%d", &port) != 1)
		die("the server's first line");
}

static struct usage
ask(void)
{
	struct usage u;
	char line[256];

	fputs("?\n", toserver);
	fflush(toserver);
	errno = 0;
	if (fgets(line, sizeof line, fromserver) == NULL ||
	    sscanf(line, "cpu_us %ld user_kb %ld conns %*d peak %*d kthreads %ld", &u.cpu, &u.user, &u.kthreads) != 3)
		die("the server's figures");
	return u;
}

static void
endserver(void)
{
	int status;

	fclose(toserver);
	if (waitpid(server, &status, 0) != server || status != 0) {
		fprintf(stderr, "echo_load: the server ended with status %#x\n", (unsigned)status);
		exit(1);
	}
}

/* "key:" of /proc/meminfo, KB. */
static long
meminfo(const char *key)
{
	char line[256];
	size_t n = strlen(key);
	long v = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, n) == 0 && line[n] == ':')
			v = atol(line + n + 1);
	if (f != NULL)
		fclose(f);
	return v;
}

/* ---- the connections ---- */

static uint64_t
word(const struct conn *c, int i)
{
	return ((uint64_t)(c - conn) << 40) ^ (c->seq * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)i;
}

static void
drop(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	refused++;
	underway--;
}

static void
sendnext(struct conn *c, int64_t at)
{
	uint64_t out[WORDS];
	int i;

	c->seq++;
	c->got = 0;
	c->sent = at;
	for (i = 0; i < WORDS; i++)
		out[i] = word(c, i);
	underway++;
	if (send(c->fd, out, MSG, MSG_NOSIGNAL | MSG_DONTWAIT) == MSG)
		return;
	if (errno != EPIPE && errno != ECONNRESET)
		die("send");
	drop(c);
}

/* An edge on c: takes what is there; an answer that is complete is checked and followed by the next message. */
static void
receive(struct conn *c)
{
	int64_t at;
	ssize_t r;
	int i;

	if (c->fd < 0)
		return;
	do {
		r = recv(c->fd, (char *)c->in + c->got, sizeof c->in - c->got, MSG_DONTWAIT);
		if (r == 0 || (r < 0 && errno == ECONNRESET)) {
			drop(c);
			return;
		}
		if (r < 0 && errno == EAGAIN)
			return;
		if (r < 0)
			die("recv");
		c->got += (uint32_t)r;
	} while (c->got < MSG);
	errno = 0;
	for (i = 0; i < WORDS; i++)
		if (c->in[i] != word(c, i) || c->got > MSG)
			die("an answer is not what was sent");
	at = now();
	underway--;
	if (measuring) {
		record(at - c->sent);
		requests++;
	}
	if (sending)
		sendnext(c, at);
}

static void
events(int ms)
{
	struct epoll_event evs[BATCH];
	int i, n = epoll_wait(epfd, evs, BATCH, ms);

	if (n < 0 && errno != EINTR)
		die("epoll_wait");
	for (i = 0; i < n; i++)
		receive(evs[i].data.ptr);
}

static void
rununtil(int64_t end)
{
	int64_t left;

	while ((left = end - now()) > 0 && underway > 0)
		events((int)(left / 1000000) + 1);
}

/* No new messages; 0 when all that were under way have come back. */
static void
drain(void)
{
	sending = 0;
	rununtil(now() + INT64_C(20000000000));
	errno = 0;
	if (underway > 0)
		die("answers that never came");
}

static void
dial(long i)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in from = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(i / PERADDRESS)) };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	struct conn *c = &conn[i];
	int one = 1;

	if ((c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	ev.data.ptr = c;
	if (bind(c->fd, (struct sockaddr *)&from, sizeof from) != 0 ||
	    connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0 || epoll_ctl(epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
		die("connecting");
}

/* A few at a time, and each answered once: the server's queue never overflows, and its threads all exist. */
static void
dialall(void)
{
	long i, done;

	sending = 0;
	for (i = done = 0; i < nconn; i = done) {
		for (; done < nconn && done < i + ATONCE; done++) {
			dial(done);
			sendnext(&conn[done], now());
		}
		while (underway > 0)
			events(1000);
	}
	sending = 1;
}

/* ---- the measurement ---- */

static void
measure(long warm, long ms)
{
	clockid_t theirs;
	int64_t t0, their0, our0;
	double secs, n;
	long i;

	if (clock_getcpuclockid(server, &theirs) != 0)
		die("the server's CPU clock");
	for (i = 0; i < nconn; i++)
		if (conn[i].fd >= 0)
			sendnext(&conn[i], now());
	rununtil(now() + warm * 1000000);
	measuring = 1;
	their0 = clockns(theirs);
	our0 = clockns(CLOCK_PROCESS_CPUTIME_ID);
	t0 = now();
	rununtil(t0 + ms * 1000000);
	secs = (double)(now() - t0) / 1e9;
	their0 = clockns(theirs) - their0;
	our0 = clockns(CLOCK_PROCESS_CPUTIME_ID) - our0;
	measuring = 0;
	drain();
	n = requests > 0 ? (double)requests : 1;
	printf("throughput\t%.0f\np50\t%.2f\np99\t%.2f\n", (double)requests / secs, quantile(.5), quantile(.99));
	printf("cpu\t%.3f\nserverbusy\t%.3f\nloadbusy\t%.3f\n", (double)their0 / 1e3 / n, (double)their0 / 1e9 / secs,
	    (double)our0 / 1e9 / secs);
}

static void
prepare(long cpu)
{
	struct rlimit rl = { 1 << 20, 1 << 20 };
	cpu_set_t set;

	if (setrlimit(RLIMIT_NOFILE, &rl) != 0 && getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	CPU_ZERO(&set);
	if (cpu >= 0) {
		CPU_SET((size_t)cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set) != 0)
			die("sched_setaffinity");
	}
	if ((epfd = epoll_create1(EPOLL_CLOEXEC)) < 0 || (conn = malloc((size_t)nconn * sizeof *conn)) == NULL)
		die("setting up");
	memset(conn, 0, (size_t)nconn * sizeof *conn);	/* now, so that no page is touched first while we measure */
}

int
main(int argc, char **argv)
{
	long warm = 300, ms = 1000, cpu = -1, kstack, slab, tables;
	struct usage before, after;
	int64_t t0;
	double n;
	int c;

	while ((c = getopt(argc, argv, "+n:w:t:c:")) != -1)
		switch (c) {
		case 'n': nconn = atol(optarg); break;
		case 'w': warm = atol(optarg); break;
		case 't': ms = atol(optarg); break;
		case 'c': cpu = atol(optarg); break;
		default: return 2;
		}
	if (optind == argc || nconn <= 0 || ms <= 0)
		return 2;
	alarm(LIMIT);			/* whatever hangs, we end, and so does the server */
	startserver(argv + optind);
	prepare(cpu);
	before = ask();
	kstack = meminfo("KernelStack");
	slab = meminfo("Slab");
	tables = meminfo("PageTables");
	t0 = now();
	dialall();
	printf("connectms\t%.1f\n", (double)(now() - t0) / 1e6);
	n = (double)nconn - (double)refused;
	printf("connections\t%.0f\n", n);
	if (n <= 0)
		die("no connection was served");
	measure(warm, ms);
	after = ask();
	printf("user\t%.2f\nkstack\t%.2f\nslab\t%.2f\ntables\t%.2f\nkthreads\t%ld\n", (double)(after.user - before.user) / n,
	    (double)(meminfo("KernelStack") - kstack) / n, (double)(meminfo("Slab") - slab) / n,
	    (double)(meminfo("PageTables") - tables) / n, after.kthreads);
	endserver();
	return 0;
}

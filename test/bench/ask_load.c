/*
 * The load for a server that scripts/bench-servers has no other client for: one thread, one epoll, N connections to
 * 127.0.0.1:PORT with one request under way on each.
 * usage: ask_load [-n CONNECTIONS] [-t MS] [-r] PORT REQUEST LENGTH:START [REQUEST LENGTH:START]...
 * What each connection asks, in turn: REQUEST has \r, \n, \\ and \xHH; its answer must have LENGTH bytes and begin with
 * START. The last pair is asked again and again, those before it once a connection, and only the last ones count.
 * -r closes the connection after it and makes a new one. Prints one "name<TAB>value" a line; latencies are in us, with -r
 * from the connect on.
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 8, TEXT = 512, BATCH = 256, STALLED = 20 };

struct text { char s[TEXT]; size_t len; };

static struct step { struct text request, start; size_t length; } step[STEPS];

struct conn {
	int fd, step;
	size_t got;		/* bytes of the answer so far */
	int64_t sent;		/* when, ns */
};

static int nsteps, again, epfd, sending = 1;
static uint16_t port;
static long underway, done, failed;
static uint32_t *took;		/* us, of each request */
static size_t room;

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "ask_load: %s: %s\n", what, errno != 0 ? strerror(errno) : "failed");
	exit(1);
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
unescape(struct text *t, const char *s)
{
	unsigned hex;

	for (; *s != '\0'; s++) {
		if (t->len == TEXT) {
			errno = E2BIG;
			die("the arguments");
		}
		if (s[0] != '\\') {
			t->s[t->len++] = *s;
		} else if (s[1] == 'x' && sscanf(s + 2, "%2x", &hex) == 1) {
			t->s[t->len++] = (char)hex;
			s += 3;
		} else {
			s++;
			t->s[t->len++] = *s == 'r' ? '\r' : *s == 'n' ? '\n' : *s;
		}
	}
}

static void
record(int64_t ns)
{
	if ((size_t)done == room) {
		room = room != 0 ? room * 2 : 1 << 16;
		if ((took = realloc(took, room * sizeof *took)) == NULL)
			die("memory");
	}
	took[done++] = (uint32_t)(ns / 1000);
}

static void
dial(struct conn *c)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT, .data.ptr = c };
	int one = 1;

	c->step = -1;
	c->sent = now();
	if ((c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if ((connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) ||
	    epoll_ctl(epfd, EPOLL_CTL_ADD, c->fd, &ev) != 0)
		die("connecting");
	underway++;
}

static void
hangup(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
	underway--;
}

/* Something is wrong with this connection; another one takes its place, but not for ever. */
static void
broken(struct conn *c)
{
	hangup(c);
	if (++failed > 10000)
		sending = 0;
	if (sending)
		dial(c);
}

static void
ask(struct conn *c)
{
	const struct text *t = &step[c->step].request;

	c->got = 0;
	if (!again)			/* else it counts from the connect on */
		c->sent = now();
	if (send(c->fd, t->s, t->len, MSG_NOSIGNAL) != (ssize_t)t->len)
		broken(c);
}

static void
connected(struct conn *c)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };

	if (epoll_ctl(epfd, EPOLL_CTL_MOD, c->fd, &ev) != 0)
		die("epoll_ctl");
	c->step = 0;
	ask(c);
}

static void
answered(struct conn *c)
{
	if (c->step < nsteps - 1) {
		c->step++;
		ask(c);
		return;
	}
	record(now() - c->sent);
	if (!sending || again)
		hangup(c);
	if (sending && again)
		dial(c);
	else if (sending)
		ask(c);
}

static void
receive(struct conn *c)
{
	const struct step *s = &step[c->step];
	char buf[65536];
	ssize_t r = recv(c->fd, buf, sizeof buf, 0);
	size_t n;

	if (r < 0 && errno == EAGAIN)
		return;
	if (r <= 0 || c->got + (size_t)r > s->length) {
		broken(c);
		return;
	}
	if (c->got < s->start.len) {
		n = s->start.len - c->got < (size_t)r ? s->start.len - c->got : (size_t)r;
		if (memcmp(buf, s->start.s + c->got, n) != 0) {
			broken(c);
			return;
		}
	}
	if ((c->got += (size_t)r) == s->length)
		answered(c);
}

static void
rununtil(int64_t end)
{
	struct epoll_event evs[BATCH];
	struct conn *c;
	int64_t left;
	int i, n;

	while ((left = end - now()) > 0 && underway > 0) {
		n = epoll_wait(epfd, evs, BATCH, (int)(left / 1000000) + 1);
		for (i = 0; i < n; i++) {
			c = evs[i].data.ptr;
			if (c->step >= 0)
				receive(c);
			else if (evs[i].events & (EPOLLERR | EPOLLHUP))
				broken(c);
			else
				connected(c);
		}
	}
}

static int
ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
arguments(char **argv)
{
	char *colon;

	for (port = (uint16_t)atoi(*argv++); argv[0] != NULL && argv[1] != NULL && nsteps < STEPS; argv += 2, nsteps++) {
		unescape(&step[nsteps].request, argv[0]);
		step[nsteps].length = strtoul(argv[1], &colon, 10);
		unescape(&step[nsteps].start, *colon == ':' ? colon + 1 : colon);
		if (step[nsteps].length == 0 || step[nsteps].start.len > step[nsteps].length)
			exit(2);
	}
}

int
main(int argc, char **argv)
{
	long n = 64, ms = 1000, i;
	struct conn *conn;
	double seconds;
	int64_t t0;
	int c;

	while ((c = getopt(argc, argv, "+n:t:r")) != -1)
		switch (c) {
		case 'n': n = atol(optarg); break;
		case 't': ms = atol(optarg); break;
		case 'r': again = 1; break;
		default: return 2;
		}
	if (optind + 3 > argc || n <= 0 || ms <= 0)
		return 2;
	arguments(argv + optind);
	alarm((unsigned)(ms / 1000) + 3 * STALLED);
	if ((epfd = epoll_create1(EPOLL_CLOEXEC)) < 0 || (conn = calloc((size_t)n, sizeof *conn)) == NULL)
		die("setting up");
	t0 = now();
	for (i = 0; i < n; i++)
		dial(&conn[i]);
	rununtil(t0 + ms * 1000000);
	seconds = (double)(now() - t0) / 1e9;
	printf("rate\t%.1f\n", (double)done / seconds);
	sending = 0;
	rununtil(now() + INT64_C(1000000000) * STALLED);
	failed += underway;		/* answers that never came */
	if (done > 0)
		qsort(took, (size_t)done, sizeof *took, ascending);
	printf("requests\t%ld\nfailed\t%ld\np50\t%u\np99\t%u\n", done, failed, done > 0 ? took[done / 2] : 0,
	    done > 0 ? took[done * 99 / 100] : 0);
	return 0;
}

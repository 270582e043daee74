/*
 * An echo server with one thread a connection and blocking reads and writes: what scripts/bench-echo measures.
 * An ordinary pthread program: it knows nothing of gossamer. usage: echo_server [-b BYTES] [-k STACK_KB] [-e]
 *   -b  the size of the buffer it reads into (512; 64 is exactly a message, so no read is a short one)
 *   -k  the stack size of its threads (the system's)      -e  no threads but one epoll loop: what is left without
 * Prints "port<TAB>N", then its figures for each line on stdin and once more at the end (see report). It ends
 * at the end of stdin or by SIGTERM or SIGINT.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAXBUF = 65536, BACKLOG = 4096, BATCH = 128 };

static size_t bufsize = 512;
static size_t stack;
static int listener;
static _Atomic long conns, peak;
static volatile sig_atomic_t ended;

static void __attribute__((noreturn))
die(const char *what)
{
	fprintf(stderr, "echo_server: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The number after "key:" in /proc/self/status, or 0. */
static long
procnum(const char *key)
{
	char line[256];
	size_t n = strlen(key);
	long v = 0;
	FILE *f = fopen("/proc/self/status", "r");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, n) == 0 && line[n] == ':') {
			v = atol(line + n + 1);
			break;
		}
	fclose(f);
	return v;
}

static void
report(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	printf("cpu_us\t%ld\tuser_kb\t%ld\tconns\t%ld\tpeak\t%ld\tkthreads\t%ld\n",
	    (long)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 + (long)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec),
	    procnum("VmRSS") + procnum("VmPTE"), conns, peak, procnum("Threads"));
	fflush(stdout);
}

static void
opened(int fd)
{
	int one = 1;
	long n = ++conns;

	if (n > peak)
		peak = n;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void
closed(int fd)
{
	conns--;
	close(fd);
}

/* 0: the other side has gone. */
static int
writeall(int fd, const char *buf, size_t n)
{
	while (n > 0) {
		ssize_t r = write(fd, buf, n);

		if (r <= 0)
			return 0;
		buf += r;
		n -= (size_t)r;
	}
	return 1;
}

static void *
serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[bufsize];
	ssize_t n;

	while ((n = read(fd, buf, bufsize)) > 0)
		if (!writeall(fd, buf, (size_t)n))
			break;
	closed(fd);
	return NULL;
}

/* The next connection, or -1: that is not one any more. */
static int
next(void)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
		die("accept");
	return fd;
}

static void *
acceptor(void *arg)
{
	pthread_attr_t attr;
	pthread_t t;
	int fd, e, said = 0;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (stack != 0 && (errno = pthread_attr_setstacksize(&attr, stack)) != 0)
		die("the stack size");
	for (;;) {
		if ((fd = next()) < 0)
			continue;
		opened(fd);
		e = pthread_create(&t, &attr, serve, (void *)(intptr_t)fd);
		if (e != 0) {
			if (said++ == 0)
				fprintf(stderr, "echo_server: no thread for connection %ld: %s\n", conns, strerror(e));
			closed(fd);
		}
	}
	return arg;
}

/* Edge-triggered, and a short read says that the socket is empty: two calls a message and a share of epoll_wait. */
static void *
loop(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener }, evs[BATCH];
	int ep = epoll_create1(EPOLL_CLOEXEC), fd, i, n;
	char buf[MAXBUF];
	ssize_t r;

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev) != 0)
		die("epoll");
	while ((n = epoll_wait(ep, evs, BATCH, -1)) >= 0 || errno == EINTR)
		for (i = 0; i < n; i++) {
			if (evs[i].data.fd == listener) {
				if ((fd = next()) < 0)
					continue;
				opened(fd);
				ev.events = EPOLLIN | EPOLLET;
				ev.data.fd = fd;
				if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) != 0)
					die("epoll_ctl");
				continue;
			}
			fd = evs[i].data.fd;
			do
				r = recv(fd, buf, bufsize, MSG_DONTWAIT);
			while (r > 0 && writeall(fd, buf, (size_t)r) && (size_t)r == bufsize);
			if (r == 0 || (r < 0 && errno != EAGAIN))
				closed(fd);
		}
	(void)arg;
	die("epoll_wait");
}

static void
onsignal(int sig)
{
	ended = sig;
}

/* As many fds as we may have. */
static void
raisefds(void)
{
	struct rlimit rl = { 1 << 20, 1 << 20 };

	if (setrlimit(RLIMIT_NOFILE, &rl) == 0 || getrlimit(RLIMIT_NOFILE, &rl) != 0)
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

static int
openport(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sa;

	if ((listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 ||
	    bind(listener, (struct sockaddr *)&sa, sizeof sa) != 0 || listen(listener, BACKLOG) != 0 ||
	    getsockname(listener, (struct sockaddr *)&sa, &len) != 0)
		die("the listening socket");
	return ntohs(sa.sin_port);
}

int
main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = onsignal };	/* no SA_RESTART: it is to end the read below */
	void *(*how)(void *) = acceptor;
	char line[64];
	pthread_t t;
	ssize_t n;
	int c;

	while ((c = getopt(argc, argv, "b:k:e")) != -1)
		switch (c) {
		case 'b': bufsize = (size_t)atol(optarg); break;
		case 'k': stack = (size_t)atol(optarg) * 1024; break;
		case 'e': how = loop; break;
		default: return 2;
		}
	if (bufsize == 0 || bufsize > MAXBUF)
		return 2;
	raisefds();
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	printf("port\t%d\n", openport());
	fflush(stdout);
	if ((errno = pthread_create(&t, NULL, how, NULL)) != 0)
		die("pthread_create");
	while (!ended && (n = read(0, line, sizeof line)) > 0)
		report();
	report();
	return 0;
}

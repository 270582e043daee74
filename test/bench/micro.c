/*
 * The small measurements of scripts/bench. usage: micro MODE [COUNT]; prints one number.
 * Each mode runs on created threads, never on main, so that both sides measure threads.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NCONTEND 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static pthread_barrier_t start;
static long count, counter;
static int turn;
static int fds[2][2];		/* [side][0] is read and [side][1] written by that side */
static double elapsed;		/* ns, written by the measuring thread before it ends */

static void
die(const char *what)
{
	fprintf(stderr, "micro: %s failed\n", what);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static pthread_t
spawn(void *(*f)(void *), intptr_t arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, (void *)arg) != 0)
		die("pthread_create");
	return t;
}

/* Runs n threads of f(0) ... f(n-1) and waits for them. */
static void
together(int n, void *(*f)(void *))
{
	pthread_t t[NCONTEND];
	int i;

	pthread_barrier_init(&start, NULL, (unsigned)n);
	for (i = 0; i < n; i++)
		t[i] = spawn(f, i);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void *
nothing(void *arg)
{
	return arg;
}

/* One thread at a time. */
static void *
creator(void *arg)
{
	double t0;
	long i;

	for (i = 0; i < 100; i++)
		pthread_join(spawn(nothing, 0), NULL);
	t0 = now();
	for (i = 0; i < count; i++)
		pthread_join(spawn(nothing, 0), NULL);
	elapsed = now() - t0;
	return arg;
}

static double
create(void)
{
	together(1, creator);
	return elapsed / (double)count;
}

/* All of them created, then all joined: the first time in this process. */
static double
burst(void)
{
	pthread_t *t = malloc((size_t)count * sizeof *t);
	double t0;
	long i;

	if (t == NULL)
		die("malloc");
	pthread_join(spawn(nothing, 0), NULL);
	t0 = now();
	for (i = 0; i < count; i++)
		t[i] = spawn(nothing, 0);
	for (i = 0; i < count; i++)
		pthread_join(t[i], NULL);
	elapsed = now() - t0;
	free(t);
	return elapsed / 1e3 / (double)count;
}

static void *
yielder(void *arg)
{
	double t0;
	long i;

	pthread_barrier_wait(&start);
	t0 = now();
	for (i = 0; i < count; i++)
		sched_yield();
	if (arg == NULL)
		elapsed = now() - t0;
	return NULL;
}

static double
yield(void)
{
	together(2, yielder);
	return elapsed / 2 / (double)count;
}

/* The same with what the kernel keeps per thread and a switch has to change: an alternate signal stack each, as
 * Rust's threads have, or different signal masks. */
static void *
altyielder(void *arg)
{
	stack_t st;

	memset(&st, 0, sizeof st);
	st.ss_size = 65536;
	st.ss_sp = malloc(st.ss_size);
	if (st.ss_sp == NULL || sigaltstack(&st, NULL) != 0)
		die("sigaltstack");
	yielder(arg);
	st.ss_flags = SS_DISABLE;
	sigaltstack(&st, NULL);
	free(st.ss_sp);
	return NULL;
}

static double
yieldalt(void)
{
	together(2, altyielder);
	return elapsed / 2 / (double)count;
}

static void *
maskyielder(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, arg == NULL ? SIGUSR1 : SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return yielder(arg);
}

static double
yieldmask(void)
{
	together(2, maskyielder);
	return elapsed / 2 / (double)count;
}

/* Block and unblock all signals, in a program with a second thread: ns per pair. */
static double
blockall(void)
{
	sigset_t all, old;
	double t0;
	long i;

	pthread_join(spawn(nothing, 0), NULL);
	sigfillset(&all);
	t0 = now();
	for (i = 0; i < count; i++) {
		pthread_sigmask(SIG_SETMASK, &all, &old);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	return (now() - t0) / (double)count;
}

static int spinstop;

static void *
spinner(void *arg)
{
	volatile long n = 0;

	while (!__atomic_load_n(&spinstop, __ATOMIC_RELAXED))
		n++;
	return arg;
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* By how much a sleep of 1 ms lasts too long beside four threads that compute: what the share q of them stays below, us. */
static double
lateness(double q)
{
	struct timespec ms = { 0, 1000000 };
	double *over = malloc((size_t)count * sizeof *over), result, t0;
	pthread_t t[4];
	long i;

	if (over == NULL)
		die("malloc");
	for (i = 0; i < 4; i++)
		t[i] = spawn(spinner, 0);
	for (i = 0; i < count; i++) {
		t0 = now();
		nanosleep(&ms, NULL);
		over[i] = (now() - t0 - 1e6) / 1e3;
	}
	__atomic_store_n(&spinstop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	qsort(over, (size_t)count, sizeof *over, ascending);
	result = over[(long)((double)count * q)];
	free(over);
	return result;
}

static double
late(void)
{
	return lateness(.5);
}

static double
latest(void)
{
	return lateness(.99);
}

static volatile double rounds[3][16];

static void *
roundcounter(void *arg)
{
	volatile double *mine = rounds[(intptr_t)arg];

	while (!__atomic_load_n(&spinstop, __ATOMIC_RELAXED))
		*mine += 1;
	return NULL;
}

/* Three threads compute: by how much is the fastest ahead of the slowest after count ms. */
static double
fair(void)
{
	struct timespec t = { count / 1000, count % 1000 * 1000000 };
	double least, most;
	pthread_t id[3];
	int i;

	for (i = 0; i < 3; i++)
		id[i] = spawn(roundcounter, i);
	nanosleep(&t, NULL);
	__atomic_store_n(&spinstop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	least = most = rounds[0][0];
	for (i = 1; i < 3; i++) {
		least = rounds[i][0] < least ? rounds[i][0] : least;
		most = rounds[i][0] > most ? rounds[i][0] : most;
	}
	return most / least;
}

static void *
condplayer(void *arg)
{
	int me = (int)(intptr_t)arg;
	double t0;
	long i;

	pthread_barrier_wait(&start);
	t0 = now();
	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&lock);
		while (turn != me)
			pthread_cond_wait(&cond[me], &lock);
		turn = !me;
		pthread_cond_signal(&cond[!me]);
		pthread_mutex_unlock(&lock);
	}
	if (me == 0)
		elapsed = now() - t0;
	return NULL;
}

static double
condpp(void)
{
	together(2, condplayer);
	return elapsed / (double)count;
}

static void *
locker(void *arg)
{
	double t0;
	long i;

	pthread_barrier_wait(&start);
	t0 = now();
	for (i = 0; i < count; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	if (arg == NULL)
		elapsed = now() - t0;
	return NULL;
}

static double
mutex(void)
{
	together(1, locker);
	return elapsed / (double)count;
}

/* From the start of the first thread to the end of the last: how long an operation keeps the mutex busy. */
static double
contend(void)
{
	double t0 = now();

	together(NCONTEND, locker);
	if (counter != NCONTEND * count)
		die("the count under the mutex");
	return (now() - t0) / (double)(NCONTEND * count);
}

static void *
fdplayer(void *arg)
{
	int me = (int)(intptr_t)arg;
	char c = 'x';
	double t0;
	long i;

	pthread_barrier_wait(&start);
	t0 = now();
	for (i = 0; i < count; i++) {
		if (me == 0 && write(fds[0][1], &c, 1) != 1)
			die("write");
		if (read(fds[me][0], &c, 1) != 1)
			die("read");
		if (me == 1 && write(fds[1][1], &c, 1) != 1)
			die("write");
	}
	if (me == 0)
		elapsed = now() - t0;
	return NULL;
}

static double
pipepp(void)
{
	int a[2], b[2];

	if (pipe(a) != 0 || pipe(b) != 0)
		die("pipe");
	fds[0][0] = a[0];
	fds[1][1] = a[1];
	fds[1][0] = b[0];
	fds[0][1] = b[1];
	together(2, fdplayer);
	return elapsed / (double)count;
}

static double
sockpp(void)
{
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) != 0)
		die("socketpair");
	fds[0][0] = fds[0][1] = s[0];
	fds[1][0] = fds[1][1] = s[1];
	together(2, fdplayer);
	return elapsed / (double)count;
}

/* The sum of two "key:" lines of a /proc file, in KB. */
static long
procsum(const char *file, const char *key1, const char *key2)
{
	char line[256];
	long sum = 0;
	FILE *f = fopen(file, "r");

	if (f == NULL)
		die(file);
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key1, strlen(key1)) == 0)
			sum += atol(line + strlen(key1));
		else if (strncmp(line, key2, strlen(key2)) == 0)
			sum += atol(line + strlen(key2));
	fclose(f);
	return sum;
}

static void *
blocker(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++;
	pthread_cond_signal(&cond[0]);
	while (!turn)
		pthread_cond_wait(&cond[1], &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static double
blocked(const char *file, const char *key1, const char *key2)
{
	pthread_t *t = malloc((size_t)count * sizeof *t);
	long i, before, after;

	if (t == NULL)
		die("malloc");
	memset(t, 0, (size_t)count * sizeof *t);
	pthread_join(spawn(nothing, 0), NULL);
	before = procsum(file, key1, key2);
	for (i = 0; i < count; i++)
		t[i] = spawn(blocker, 0);
	pthread_mutex_lock(&lock);
	while (counter < count)
		pthread_cond_wait(&cond[0], &lock);
	after = procsum(file, key1, key2);
	turn = 1;
	pthread_cond_broadcast(&cond[1]);
	pthread_mutex_unlock(&lock);
	for (i = 0; i < count; i++)
		pthread_join(t[i], NULL);
	free(t);
	return (double)(after - before) / (double)count;
}

static double
memuser(void)
{
	return blocked("/proc/self/status", "VmRSS:", "VmPTE:");
}

static double
memkernel(void)
{
	return blocked("/proc/meminfo", "KernelStack:", "Slab:");
}

static void *
cruncher(void *arg)
{
	uint64_t x = 88172645463325252u + (uint64_t)(uintptr_t)arg;
	uint64_t table[4096];
	long i;

	memset(table, 0, sizeof table);
	pthread_barrier_wait(&start);
	for (i = 0; i < count * 1000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		table[x & 4095] += x;
	}
	return (void *)(uintptr_t)table[x & 4095];
}

/* Two threads that only compute, thousands of steps each: ms. */
static double
cpu(void)
{
	double t0 = now();

	together(2, cruncher);
	return (now() - t0) / 1e6;
}

static const struct mode {
	const char *name;
	double (*f)(void);
	long count;
} modes[] = {
	{ "create", create, 20000 },
	{ "burst", burst, 10000 },
	{ "yield", yield, 200000 },
	{ "yieldalt", yieldalt, 200000 },
	{ "yieldmask", yieldmask, 200000 },
	{ "sigmask", blockall, 200000 },
	{ "late", late, 1000 },
	{ "latest", latest, 1000 },
	{ "fair", fair, 2000 },
	{ "cond", condpp, 100000 },
	{ "mutex", mutex, 20000000 },
	{ "contend", contend, 500000 },
	{ "pipe", pipepp, 50000 },
	{ "sock", sockpp, 50000 },
	{ "memuser", memuser, 10000 },
	{ "memkernel", memkernel, 10000 },
	{ "cpu", cpu, 400000 },
};

/* Text that compresses about as well as prose does: words drawn with a fixed generator. */
static int
generate(long size)
{
	uint64_t x = 1;
	char word[4096][12];
	long done = 0;
	size_t i, k, n;

	for (i = 0; i < 4096; i++) {
		n = 2 + (i * 7 + i / 3) % 9;
		for (k = 0; k < n; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			word[i][k] = (char)('a' + (x >> 59) % 26);
		}
		word[i][n] = i % 13 ? ' ' : '\n';
		word[i][n + 1] = '\0';
	}
	while (done < size) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		i = (x >> 40) & (x >> 52) & 4095;
		if (fputs(word[i], stdout) < 0)
			return 1;
		done += (long)strlen(word[i]);
	}
	return fflush(stdout) != 0;
}

int
main(int argc, char **argv)
{
	size_t i;

	if (argc == 3 && strcmp(argv[1], "generate") == 0)
		return generate(atol(argv[2]));
	for (i = 0; argc >= 2 && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			count = argc > 2 ? atol(argv[2]) : modes[i].count;
			if (count <= 0)
				return 2;
			printf("%.2f\n", modes[i].f());
			return 0;
		}
	fprintf(stderr, "usage: micro MODE [COUNT]\n");
	return 2;
}

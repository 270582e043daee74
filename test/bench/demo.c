/*
 * N threads, all alive at once, each blocked on a condition variable; then they are released and joined.
 * Prints what that took, one "name<TAB>value" a line. An ordinary pthread program: it knows nothing of gossamer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t allin = PTHREAD_COND_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER;
static long waiting;
static int released;

static void *
waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_signal(&allin);
	while (!released)
		pthread_cond_wait(&go, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* The number after "key:" in a /proc file, or 0. */
static long
procnum(const char *file, const char *key)
{
	char line[256];
	size_t n = strlen(key);
	long v = 0;
	FILE *f = fopen(file, "r");

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

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int
main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000;
	long i, made, rss, pte, kstack, nkernel, bad = 0;
	pthread_t *t = malloc((size_t)n * sizeof *t);
	double start, up, end;
	int e = 0;

	if (n <= 0 || t == NULL)
		return 2;
	kstack = procnum("/proc/meminfo", "KernelStack");
	start = now();
	for (made = 0; made < n; made++)
		if ((e = pthread_create(&t[made], NULL, waiter, (void *)(uintptr_t)made)) != 0)
			break;
	if (e != 0)
		fprintf(stderr, "demo: only %ld threads: %s\n", made, strerror(e));
	pthread_mutex_lock(&lock);
	while (waiting < made)
		pthread_cond_wait(&allin, &lock);
	pthread_mutex_unlock(&lock);
	up = now();
	nkernel = procnum("/proc/self/status", "Threads");
	rss = procnum("/proc/self/status", "VmRSS");
	pte = procnum("/proc/self/status", "VmPTE");
	kstack = procnum("/proc/meminfo", "KernelStack") - kstack;
	if (kstack < 0)
		kstack = 0;

	pthread_mutex_lock(&lock);
	released = 1;
	pthread_cond_broadcast(&go);
	pthread_mutex_unlock(&lock);
	for (i = 0; i < made; i++) {
		void *r = NULL;

		if (pthread_join(t[i], &r) != 0 || r != (void *)(uintptr_t)i)
			bad++;
	}
	end = now();
	free(t);

	printf("threads of the program\t%ld\n", made);
	printf("threads of the kernel\t%ld\n", nkernel);
	printf("resident memory, MB\t%.1f\n", (double)rss / 1024);
	printf("page tables, MB\t%.1f\n", (double)pte / 1024);
	printf("kernel stacks, MB (whole machine)\t%.1f\n", (double)kstack / 1024);
	printf("all of it per thread, KB\t%.1f\n", made > 0 ? (double)(rss + pte + kstack) / (double)made : 0.0);
	printf("created and blocked, ms\t%.0f\n", up - start);
	printf("released and joined, ms\t%.0f\n", end - up);
	printf("wall time, ms\t%.0f\n", end - start);
	return bad != 0 || made < n;
}

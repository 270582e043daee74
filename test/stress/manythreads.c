/*
 * COUNT threads alive at once, each blocked on a condition variable, then released and joined.
 * Each must have its own TLS and return its own value. usage: manythreads [COUNT]
 */
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
static long target = -1;	/* how many main waits for; -1 while it still creates */
static int released;
static __thread uintptr_t mine;

static void *
waiter(void *arg)
{
	mine = (uintptr_t)arg;
	pthread_mutex_lock(&lock);
	if (++waiting == target)
		pthread_cond_signal(&allin);
	while (!released)
		pthread_cond_wait(&go, &lock);
	pthread_mutex_unlock(&lock);
	return (void *)(mine + 1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
memory(long n)
{
	char line[256];
	long kb, sum = 0;
	FILE *f = fopen("/proc/self/status", "r");

	if (f == NULL)
		return;
	while (fgets(line, sizeof line, f) != NULL) {
		if (strncmp(line, "VmRSS:", 6) == 0 || strncmp(line, "VmPTE:", 6) == 0) {
			kb = atol(line + 6);
			sum += kb;
			printf("%.5s %ld MB\n", line, kb / 1024);
		} else if (strncmp(line, "Threads:", 8) == 0) {
			printf("kernel threads %ld\n", atol(line + 8));
		}
	}
	fclose(f);
	printf("per thread %.2f KB\n", (double)sum / (double)n);
}

int
main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000;
	long i, made, bad = 0;
	pthread_t *t = malloc((size_t)n * sizeof *t);
	double start = now(), up, end;
	int e = 0;

	if (n <= 0 || t == NULL)
		return 2;
	for (made = 0; made < n; made++)
		if ((e = pthread_create(&t[made], NULL, waiter, (void *)(uintptr_t)made)) != 0)
			break;
	if (e != 0)
		printf("pthread_create: %s after %ld threads\n", strerror(e), made);
	pthread_mutex_lock(&lock);
	target = made;
	while (waiting < made)
		pthread_cond_wait(&allin, &lock);
	pthread_mutex_unlock(&lock);
	up = now();
	printf("%ld threads alive at once after %.2f s\n", made, up - start);
	if (made > 0)
		memory(made);
	fflush(stdout);

	pthread_mutex_lock(&lock);
	released = 1;
	pthread_cond_broadcast(&go);
	pthread_mutex_unlock(&lock);
	for (i = 0; i < made; i++) {
		void *r = NULL;

		if (pthread_join(t[i], &r) != 0 || (uintptr_t)r != (uintptr_t)i + 1)
			bad++;
	}
	end = now();
	printf("released and joined in %.2f s\n", end - up);
	if (bad != 0)
		printf("%ld wrong results\n", bad);
	free(t);
	return bad != 0 || made < n;
}

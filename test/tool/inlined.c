/*
 * A thread that computes in a function that was inlined into another, and one that sleeps: for the test of the gdb
 * commands. Prints "ready" and ends when its standard input does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int begun, stop;
static volatile unsigned long work;

static inline __attribute__((always_inline)) void
inner(void)
{
	for (;;) {
		work++;
		if (atomic_load(&stop))
			return;
	}
}

static __attribute__((noinline)) void
outer(void)
{
	atomic_fetch_add(&begun, 1);
	inner();
}

static void *
computes(void *arg)
{
	outer();
	return arg;
}

static void *
sleeps(void *arg)
{
	atomic_fetch_add(&begun, 1);
	sleep(3600);
	return arg;
}

int
main(void)
{
	pthread_t th;
	char c;

	if (pthread_create(&th, NULL, computes, NULL) != 0 || pthread_create(&th, NULL, sleeps, NULL) != 0)
		return 1;
	while (atomic_load(&begun) != 2)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}

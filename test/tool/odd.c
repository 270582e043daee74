/*
 * Threads that are seldom met, for the tests of the commands that look into a process: some that have ended and were
 * not joined, one asleep in a system call that nobody announced, names that a terminal would obey, waiters for one
 * mutex, a deep recursion, and one that never sleeps for long. Prints "ready" and ends when its standard input does.
 *
 * odd exit            main ends by pthread_exit before
 * odd segv            it dies of a fault in a thread
 * odd NUMBER          so many more wait for the mutex
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENDED = 3, LOCKERS = 4, DEEP = 1000 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int pipefd[2];

static void *
quick(void *arg)
{
	return arg;
}

static void *
locker(void *arg)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return arg;
}

/* By no function of libc's, so that the library learns of it only by its effects. */
static void *
unannounced(void *arg)
{
	char c;
	long r;

	__asm__ volatile ("syscall" : "=a" (r) : "0" (SYS_read), "D" (pipefd[0]), "S" (&c), "d" (1)
	                  : "rcx", "r11", "memory");
	return arg;
}

static void *
named(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	for (;;)
		pause();
	return arg;
}

static __attribute__((noinline)) int
deep(volatile int *n)
{
	if (--*n > 0)
		return deep(n) + 1;
	while (*n < DEEP)
		pause();
	return 0;
}

static void *
deepest(void *arg)
{
	volatile int n = DEEP;

	return deep(&n) > 0 ? arg : NULL;
}

static void *
napper(void *arg)
{
	for (;;)
		usleep(30000);
	return arg;
}

static void *
faults(void *arg)
{
	*(volatile char *)arg = 1;
	return arg;
}

static void *
waits(void *arg)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
	_exit(0);
	return arg;
}

static void
start(void *(*fn)(void *), void *arg)
{
	pthread_t th;

	if (pthread_create(&th, NULL, fn, arg) != 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	if (pipe(pipefd) != 0)
		return 1;
	pthread_mutex_lock(&held);
	for (int i = 0; i < ENDED; i++)
		start(quick, NULL);
	for (int i = 0; i < LOCKERS + (argc > 1 ? atoi(argv[1]) : 0); i++)
		start(locker, NULL);
	start(unannounced, NULL);
	start(named, "\033[31mred");
	start(named, "new\nline");
	start(named, "gr\303\274n\377");
	start(deepest, NULL);
	start(napper, NULL);
	usleep(100000);
	puts("ready");
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "segv") == 0) {
		start(faults, NULL);
		sleep(3600);
	}
	if (argc > 1 && strcmp(argv[1], "exit") == 0) {
		start(waits, NULL);
		pthread_exit(NULL);
	}
	waits(NULL);
	return 0;
}

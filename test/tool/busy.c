/*
 * Threads that never rest, to be looked at: pairs that send numbers to and fro, some that make others and join
 * them, some that want the same mutex, one that blocks in the kernel without telling. Each checks what it gets.
 * Ends when its standard input does, with "errors N", N being 0.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS = 4, MAKERS = 2, LOCKERS = 4 };

static atomic_int stop;
static atomic_long errors, rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared;

static void
must(int ok)
{
	if (!ok)
		atomic_fetch_add(&errors, 1);
}

static void *
ping(void *arg)
{
	int fd = (int)(long)arg;
	long n, got;

	for (n = 0; !atomic_load(&stop); n++) {
		must(write(fd, &n, sizeof n) == sizeof n);
		must(read(fd, &got, sizeof got) == sizeof got && got == n + 1);
		atomic_fetch_add(&rounds, 1);
	}
	shutdown(fd, SHUT_WR);
	return NULL;
}

static void *
pong(void *arg)
{
	int fd = (int)(long)arg;
	long n;

	while (read(fd, &n, sizeof n) == sizeof n) {
		n++;
		must(write(fd, &n, sizeof n) == sizeof n);
	}
	return NULL;
}

static void *
child(void *arg)
{
	return (void *)((long)arg + 1);
}

static void *
maker(void *arg)
{
	for (long i = 0; !atomic_load(&stop); i++) {
		pthread_t th;
		void *ret;

		must(pthread_create(&th, NULL, child, (void *)i) == 0);
		must(pthread_join(th, &ret) == 0 && ret == (void *)(i + 1));
	}
	return arg;
}

static void *
locker(void *arg)
{
	while (!atomic_load(&stop)) {
		pthread_mutex_lock(&lock);
		must(shared == 0);
		shared++;
		usleep(100);
		shared--;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *
stdio(void *arg)
{
	FILE *f = popen("while sleep 0.05; do echo x || exit; done", "r");
	char line[16];

	while (!atomic_load(&stop))
		must(fgets(line, sizeof line, f) != NULL && line[0] == 'x');
	fclose(f);
	return arg;
}

int
main(void)
{
	pthread_t th[2 * PAIRS + MAKERS + LOCKERS + 1];
	int n = 0, pair[2];
	char c;

	for (int i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 1;
		pthread_create(&th[n++], NULL, ping, (void *)(long)pair[0]);
		pthread_create(&th[n++], NULL, pong, (void *)(long)pair[1]);
	}
	for (int i = 0; i < MAKERS; i++)
		pthread_create(&th[n++], NULL, maker, NULL);
	for (int i = 0; i < LOCKERS; i++)
		pthread_create(&th[n++], NULL, locker, NULL);
	pthread_create(&th[n++], NULL, stdio, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	atomic_store(&stop, 1);
	while (n > 0)
		pthread_join(th[--n], NULL);
	printf("errors %ld\n", atomic_load(&errors));
	return atomic_load(&errors) != 0 || atomic_load(&rounds) == 0;
}

/*
 * A hundred threads, each in a state that is known, for the tests of the commands that look into a
 * process; and as many more at a condition variable as the argument says, and some more at SIGUSR1. Prints
 * "ready" when all have been started, and ends when its standard input does. The lines on which they wait are
 * marked "at NAME".
 */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int pipefd[2], listener, pair[2];
static pthread_t sleepers[15];
static atomic_int stop;
static volatile unsigned long work;

static void *
lock_wait(void *arg)
{
	pthread_mutex_lock(&held);		/* at lock_wait */
	pthread_mutex_unlock(&held);
	return arg;
}

static void *
cond_waiter(void *arg)
{
	pthread_mutex_lock(&guard);
	for (;;)
		pthread_cond_wait(&never, &guard);	/* at cond_waiter */
	return arg;
}

static void *
sem_waiter(void *arg)
{
	sem_wait(&sem);			/* at sem_waiter */
	return arg;
}

static void *
rw_waiter(void *arg)
{
	pthread_rwlock_rdlock(&rw);	/* at rw_waiter */
	return arg;
}

static void *
barrier_waiter(void *arg)
{
	pthread_barrier_wait(&barrier);	/* at barrier_waiter */
	return arg;
}

static void *
joiner(void *arg)
{
	pthread_join(sleepers[(size_t)arg], NULL);	/* at joiner */
	return arg;
}

static void *
sleeper(void *arg)
{
	sleep(3600);			/* at sleeper */
	return arg;
}

static void *
pipe_reader(void *arg)
{
	char c;

	if (read(pipefd[0], &c, 1) < 0)	/* at pipe_reader */
		return NULL;
	return arg;
}

static void *
acceptor(void *arg)
{
	if (accept(listener, NULL, NULL) < 0)	/* at acceptor */
		return NULL;
	return arg;
}

static void *
poller(void *arg)
{
	struct pollfd fds[2] = { { pair[0], POLLIN, 0 }, { pair[1], POLLIN, 0 } };

	poll(fds, 2, -1);		/* at poller */
	return arg;
}

static void *
spinner(void *arg)
{
	while (!atomic_load(&stop))
		work++;			/* at spinner */
	return arg;
}

static void *
in_kernel(void *arg)
{
	int status;
	char c;
	pid_t pid = fork();

	if (pid == 0) {
		while (read(0, &c, 1) > 0)	/* as long as its parent */
			;
		_exit(0);
	}
	*(volatile pid_t *)arg = pid;
	waitpid(pid, &status, 0);	/* at in_kernel */
	return NULL;
}

/* Makes 7 more that wait when it gets SIGUSR1: main does, whose read it ends. */
static volatile sig_atomic_t wantmore;

static void
more(int sig)
{
	(void)sig;
	wantmore = 1;
}

static void
start(pthread_t *th, void *(*fn)(void *), void *arg, const char *name)
{
	pthread_t unused;

	if (pthread_create(th != NULL ? th : &unused, NULL, fn, arg) != 0)
		exit(1);
	pthread_setname_np(th != NULL ? *th : unused, name);
}

static void
many(int n, void *(*fn)(void *), const char *name)
{
	for (int i = 0; i < n; i++)
		start(NULL, fn, NULL, name);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sigaction onmore = { .sa_handler = more };
	static volatile pid_t child;
	char c;

	if (pipe(pipefd) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    (listener = socket(AF_INET, SOCK_STREAM, 0)) < 0 ||
	    bind(listener, (struct sockaddr *)&any, sizeof any) != 0 || listen(listener, 5) != 0)
		return 1;
	sigaction(SIGUSR1, &onmore, NULL);
	start(NULL, in_kernel, (void *)&child, "kernel");
	while (child == 0)
		usleep(1000);
	pthread_mutex_lock(&held);
	pthread_rwlock_wrlock(&rw);
	pthread_barrier_init(&barrier, NULL, 6);
	sem_init(&sem, 0, 0);
	for (int i = 0; i < 15; i++)
		start(&sleepers[i], sleeper, NULL, "sleeper");
	for (size_t i = 0; i < 5; i++)
		start(NULL, joiner, (void *)i, "joiner");
	many(20, lock_wait, "locker");
	many(20, cond_waiter, "cond");
	many(10, sem_waiter, "sem");
	many(5, rw_waiter, "rw");
	many(5, barrier_waiter, "barrier");
	many(10, pipe_reader, "reader");
	many(5, acceptor, "acceptor");
	many(3, poller, "poller");
	start(NULL, spinner, NULL, "spinner");
	many(argc > 1 ? atoi(argv[1]) : 0, cond_waiter, "extra");
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) != 0)	/* at main */
		if (wantmore) {
			wantmore = 0;
			many(7, cond_waiter, "more");
		}
	kill(child, 9);
	_exit(0);
}

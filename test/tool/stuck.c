/*
 * Programs in which all threads wait, for the tests of GOSSAMER_DEADLOCK: some for ever, others for something
 * that comes. Prints "ready" before it begins to wait, and "over" at the end of those which have one.
 *
 * stuck ab|join|lost          deadlocks: two mutexes; a joiner that holds a mutex; a condition variable
 * stuck ended                 two mutexes, beside a thread that has ended, and main, which has, too
 * stuck timer|pipe|handler|child|foreign   correct programs, for 1 second or until they are told
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t sem;
static int fds[2];

static void *
lock_ab(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b);
	return arg;
}

static void *
lock_ba(void *arg)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a);
	return arg;
}

static void *
wants_a(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	return arg;
}

static void *
waits(void *arg)
{
	pthread_mutex_lock(&b);
	for (;;)
		pthread_cond_wait(&never, &b);
	return arg;
}

static void *
ends(void *arg)
{
	return arg;
}

static void *
posted(void *arg)
{
	sem_wait(&sem);
	return arg;
}

static void *
timed(void *arg)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	pthread_mutex_lock(&b);
	pthread_cond_timedwait(&never, &b, &ts);
	pthread_mutex_unlock(&b);
	return arg;
}

static void *
reads(void *arg)
{
	char c;

	return read(fds[0], &c, 1) == 1 ? arg : NULL;
}

static void *
waitschild(void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		sleep(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return arg;
}

static void
post(int sig)
{
	(void)sig;
	sem_post(&sem);
}

/* On a native thread, which glibc makes for it. */
static void
posts(union sigval unused)
{
	(void)unused;
	sleep(1);
	sem_post(&sem);
}

static void
foreign(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec its = { .it_value.tv_nsec = 1 };
	timer_t timer;

	ev.sigev_notify_function = posts;
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0 || timer_settime(timer, 0, &its, NULL) != 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*fn[2])(void *);
	} kinds[] = {
		{ "ab", { lock_ab, lock_ba } }, { "lost", { waits, waits } }, { "timer", { timed, timed } },
		{ "pipe", { reads, reads } }, { "handler", { posted, posted } }, { "child", { waitschild, waitschild } },
		{ "foreign", { posted, NULL } }, { "join", { wants_a, NULL } }, { "ended", { lock_ab, lock_ba } },
	};
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t th[2], unjoined;
	int n = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_barrier_init(&both, NULL, 2);
	sem_init(&sem, 0, 0);
	if (pipe(fds) != 0)
		return 1;
	if (strcmp(what, "handler") == 0)
		signal(SIGUSR1, post);
	if (strcmp(what, "join") == 0)
		pthread_mutex_lock(&a);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		for (int j = 0; j < 2 && strcmp(kinds[i].name, what) == 0; j++)
			if (kinds[i].fn[j] != NULL)
				pthread_create(&th[n++], NULL, kinds[i].fn[j], NULL);
	if (n == 0)
		return 2;
	if (strcmp(what, "foreign") == 0)
		foreign();
	if (strcmp(what, "ended") == 0)
		pthread_create(&unjoined, NULL, ends, NULL);
	puts("ready");
	if (strcmp(what, "ended") == 0)
		pthread_exit(NULL);
	while (n > 0)
		pthread_join(th[--n], NULL);
	puts("over");
	return 0;
}

/*
 * fork in a thread while others hold locks and change what they guard: with pthread_atfork handlers that take the
 * locks, the child finds them consistent and free, can use them and condition variables, and create threads;
 * prepare handlers run in reverse order, the others in order.  POSIX pthread_atfork.
 */
#include "conform.h"
#include <sys/wait.h>

enum { N = 4, FORKS = 20 };

static pthread_mutex_t m[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long pair[2][2];
static int stop, ready;
static char order[16];

static void
note(char ch)
{
    size_t n = strlen(order);

    if (n < sizeof order - 1)
        order[n] = ch;
}

static void prepare0(void) { note('1'); OK(pthread_mutex_lock(&m[0])); }
static void prepare1(void) { note('2'); OK(pthread_mutex_lock(&m[1])); }
static void after0(void) { note('a'); OK(pthread_mutex_unlock(&m[0])); }
static void after1(void) { note('b'); OK(pthread_mutex_unlock(&m[1])); }
static void child0(void) { note('x'); OK(pthread_mutex_unlock(&m[0])); }
static void child1(void) { note('y'); OK(pthread_mutex_unlock(&m[1])); }

static void *
changer(void *arg)
{
    int i = (int)((intptr_t)arg % 2);

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        OK(pthread_mutex_lock(&m[i]));
        pair[i][0]++;
        usleep(50);
        pair[i][1]++;
        OK(pthread_mutex_unlock(&m[i]));
        usleep(50);
    }
    return arg;
}

static void *
signaller(void *arg)
{
    OK(pthread_mutex_lock(&m[0]));
    ready = 1;
    OK(pthread_cond_signal(&c));
    OK(pthread_mutex_unlock(&m[0]));
    return arg;
}

static int
child(void)
{
    pthread_t t;
    int bad = 0;

    for (int i = 0; i < 2; i++) {
        bad += pthread_mutex_trylock(&m[i]) != 0;
        bad += pair[i][0] != pair[i][1];
        OK(pthread_mutex_unlock(&m[i]));
    }
    OK(pthread_mutex_lock(&m[0]));
    t = spawn(signaller, NULL);
    while (!ready)
        OK(pthread_cond_wait(&c, &m[0]));
    OK(pthread_mutex_unlock(&m[0]));
    join(t);
    if (strcmp(order, "21xy") != 0)
        bad += 100;
    return bad;
}

static void *
forker(void *arg)
{
    int good = 0;

    for (int i = 0; i < FORKS; i++) {
        int st;
        pid_t pid;

        memset(order, 0, sizeof order);
        pid = fork();
        if (pid == 0)
            _exit(child());
        CHECK(waitpid(pid, &st, 0) == pid);
        good += WIFEXITED(st) && WEXITSTATUS(st) == 0 && strcmp(order, "21ab") == 0;
    }
    printf("%d of %d\n", good, FORKS);
    return arg;
}

int
main(void)
{
    pthread_t t[N];

    OK(pthread_atfork(prepare0, after0, child0));
    OK(pthread_atfork(prepare1, after1, child1));
    for (intptr_t i = 0; i < N; i++)
        t[i] = spawn(changer, (void *)i);
    join(spawn(forker, NULL));
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < N; i++)
        join(t[i]);
    printf("pairs equal %d\n", pair[0][0] == pair[0][1] && pair[1][0] == pair[1][1]);
    return conform_status();
}

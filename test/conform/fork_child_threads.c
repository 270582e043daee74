/*
 * The child of a process with threads makes threads again, with mutexes, condition variables, pipes and
 * joins, and forks once more from one of them; forked from main and from a thread. POSIX fork (glibc lets
 * the child go on, beyond the standard's promise).
 */
#include "conform.h"
#include <sys/wait.h>

enum { N = 4, ROUNDS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn, sum, pfd[2];

static void *
player(void *arg)
{
    int me = (int)(intptr_t)arg, i;
    char c;

    for (i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(&mutex));
        while (turn % N != me)
            OK(pthread_cond_wait(&cond, &mutex));
        sum += turn++;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(&mutex));
    }
    CHECK(read(pfd[0], &c, 1) == 1);
    return NULL;
}

static void
game(const char *who)
{
    pthread_t t[N];
    int i;

    turn = sum = 0;
    CHECK(pipe(pfd) == 0);
    for (i = 0; i < N; i++)
        t[i] = spawn(player, (void *)(intptr_t)i);
    msleep(2);
    CHECK(write(pfd[1], "abcd", N) == N);
    for (i = 0; i < N; i++)
        join(t[i]);
    close(pfd[0]);
    close(pfd[1]);
    printf("%s: turns %d, sum %d\n", who, turn, sum);
    fflush(stdout);
}

/* Forks; the child runs fn and ends with status. */
static int
inchild(void (*fn)(void), int status)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        fn();
        fflush(stdout);
        _exit(conform_status() ? 1 : status);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void
grandchild(void)
{
    game("grandchild");
}

static void *
forkonce(void *arg)
{
    (void)arg;
    printf("grandchild's status %d\n", inchild(grandchild, 5));
    return NULL;
}

static void
child(void)
{
    game("child");
    join(spawn(forkonce, NULL));
    game("child again");
}

static void *
forkthread(void *arg)
{
    (void)arg;
    printf("status %d\n", inchild(child, 3));
    return NULL;
}

int
main(void)
{
    game("parent");
    printf("from main: status %d\n", inchild(child, 4));
    join(spawn(forkthread, NULL));
    game("parent again");
    return conform_status();
}

/*
 * A process with threads is stopped and continued: none runs while it is stopped, SIGCONT's handler runs once,
 * afterwards all go on where they were.  POSIX 2.4.3.
 */
#include "conform.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct { int turns, conts; } *shared;
static int fd[2], stop;

static void
handler(int sig)
{
    (void)sig;
    __atomic_add_fetch(&shared->conts, 1, __ATOMIC_RELAXED);
}

static void *
turner(void *arg)
{
    volatile long x = 0;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&shared->turns, 1, __ATOMIC_RELAXED);
        if (arg != NULL)
            usleep(100);
        else
            for (int i = 0; i < 1000; i++)
                x++;
    }
    return arg;
}

static void *
reader(void *arg)
{
    char b;

    return read(fd[0], &b, 1) == 1 && b == 'x' ? arg : NULL;
}

static int
child(void)
{
    struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
    pthread_t a, b, r;
    int ok;

    CHECK(sigaction(SIGCONT, &sa, NULL) == 0);
    a = spawn(turner, NULL);
    b = spawn(turner, "");
    r = spawn(reader, "");
    ok = join(r) != NULL;
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(a);
    join(b);
    return ok ? 7 : 8;
}

int
main(void)
{
    pid_t pid;
    int st, before;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(pipe(fd) == 0);
    pid = fork();
    if (pid == 0)
        _exit(child());
    for (int i = 0; i < 3; i++) {
        while (__atomic_load_n(&shared->turns, __ATOMIC_RELAXED) < 100 * (i + 1))
            msleep(1);
        CHECK(kill(pid, SIGSTOP) == 0);
        CHECK(waitpid(pid, &st, WUNTRACED) == pid);
        printf("stopped %d\n", WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
        before = __atomic_load_n(&shared->turns, __ATOMIC_RELAXED);
        msleep(20);
        printf("turns while stopped: %d\n", __atomic_load_n(&shared->turns, __ATOMIC_RELAXED) - before);
        CHECK(kill(pid, SIGCONT) == 0);
        CHECK(waitpid(pid, &st, WCONTINUED) == pid && WIFCONTINUED(st));
        while (__atomic_load_n(&shared->conts, __ATOMIC_RELAXED) < i + 1)
            msleep(1);
    }
    CHECK(write(fd[1], "x", 1) == 1);
    CHECK(waitpid(pid, &st, 0) == pid);
    printf("exit status %d, SIGCONT %d\n", WEXITSTATUS(st), shared->conts);
    return conform_status();
}

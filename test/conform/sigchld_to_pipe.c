/*
 * A handler of SIGCHLD that writes to a pipe, which main polls; the mask is changed around each fork. None of the signals is
 * lost, whatever kernel thread they come to.
 */
#include "conform.h"
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { ROUNDS = 300 };

static int fd[2];

static void
onchld(int sig)
{
    int saved = errno;

    (void)sig;
    CHECK(write(fd[1], "x", 1) == 1);
    errno = saved;
}

static void *
nothing(void *arg)
{
    return arg;
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onchld, .sa_flags = SA_RESTART };
    struct pollfd p;
    sigset_t all, old;
    char c;

    CHECK(pipe(fd) == 0);
    p = (struct pollfd){ fd[0], POLLIN, 0 };
    sigaction(SIGCHLD, &sa, NULL);
    join(spawn(nothing, NULL));
    sigfillset(&all);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t pid;

        pthread_sigmask(SIG_BLOCK, &all, &old);
        if ((pid = fork()) == 0) {
            for (volatile int k = 0; k < i * 37 % 100000; k++)
                ;
            _exit(0);
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        while (waitpid(pid, NULL, WNOHANG) != pid) {
            while (poll(&p, 1, -1) < 0 && errno == EINTR)
                ;
            CHECK(read(fd[0], &c, 1) == 1);
        }
        while (poll(&p, 1, 0) == 1)
            CHECK(read(fd[0], &c, 1) == 1);
    }
    printf("%d children\n", ROUNDS);
    return conform_status();
}

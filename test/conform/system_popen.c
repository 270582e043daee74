/*
 * system and popen from four threads at once: statuses and outputs come back right, other threads go on,
 * and the child has the environment and directory of the process.  POSIX system, popen.
 */
#include "conform.h"
#include <sys/wait.h>

enum { N = 4 };

static int stop;
static unsigned long ticks;

static void *
ticker(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
        msleep(1);
    }
    return NULL;
}

static void *
body(void *arg)
{
    int id = (int)(intptr_t)arg, st;
    char cmd[64], line[64] = "";
    FILE *f;

    snprintf(cmd, sizeof cmd, "exit %d", id);
    st = system(cmd);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == id);
    snprintf(cmd, sizeof cmd, "echo $VARIABLE %d; exit %d", id, id + 1);
    f = popen(cmd, "r");
    CHECK(f && fgets(line, sizeof line, f));
    st = pclose(f);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == id + 1);
    snprintf(cmd, sizeof cmd, "value %d\n", id);
    CHECK(strcmp(line, cmd) == 0);
    f = popen("cat >/dev/null; exit 3", "w");
    CHECK(f && fputs("some text\n", f) >= 0);
    st = pclose(f);
    CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 3);
    return NULL;
}

int
main(void)
{
    pthread_t t[N], tick;
    int i, st;

    setenv("VARIABLE", "value", 1);
    tick = spawn(ticker, NULL);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)(intptr_t)(i * 10 + 1));
    for (i = 0; i < N; i++)
        join(t[i]);
    st = system("sleep 0.05; exit 6");
    printf("status %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    st = system("kill -TERM $$");
    printf("signal %d\n", WIFSIGNALED(st) ? WTERMSIG(st) : -1);
    printf("shell: %s\n", system(NULL) ? "yes" : "no");
    while (__atomic_load_n(&ticks, __ATOMIC_RELAXED) < 5)
        msleep(1);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(tick);
    return conform_status();
}

/*
 * A thread that blocks inside libc, in fgets on a pipe, does not keep the thread that must fill the pipe from
 * running, nor others from computing; 100 lines go to and fro between two threads through two FILEs.
 * POSIX fgets.
 */
#include "conform.h"

static FILE *in[2], *out[2];
static int stop, computed;
static unsigned long sum;

static void *
replier(void *arg)
{
    char line[64];

    (void)arg;
    while (fgets(line, sizeof line, in[1])) {
        fprintf(out[1], "%d\n", atoi(line) * 2 + 1);
        fflush(out[1]);
    }
    fclose(out[1]);
    return NULL;
}

static void *
computer(void *arg)
{
    unsigned long x = 1;

    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        x = x * 6364136223846793005 + 1;
        __atomic_store_n(&computed, 1, __ATOMIC_RELAXED);
    }
    sum = x;
    return NULL;
}

static void *
latewriter(void *arg)
{
    FILE *f = arg;

    while (!__atomic_load_n(&computed, __ATOMIC_RELAXED))
        msleep(1);
    msleep(20);
    fputs("late\n", f);
    fclose(f);
    return NULL;
}

static void
makepipe(FILE **r, FILE **w)
{
    int fd[2];

    CHECK(pipe(fd) == 0);
    *r = fdopen(fd[0], "r");
    *w = fdopen(fd[1], "w");
    CHECK(*r && *w);
}

int
main(void)
{
    pthread_t t, c;
    FILE *r, *w;
    char line[64];
    unsigned v = 1;
    int i;

    makepipe(&in[1], &out[0]);
    makepipe(&in[0], &out[1]);
    t = spawn(replier, NULL);
    for (i = 0; i < 100; i++) {
        fprintf(out[0], "%u\n", v % 1000);
        fflush(out[0]);
        if (!fgets(line, sizeof line, in[0]))
            break;
        v += (unsigned)atoi(line);
    }
    fclose(out[0]);
    printf("rounds %d, value %u, end %s\n", i, v, fgets(line, sizeof line, in[0]) ? "no" : "yes");
    join(t);

    makepipe(&r, &w);
    c = spawn(computer, NULL);
    t = spawn(latewriter, w);
    printf("beside a computing thread: %s", fgets(line, sizeof line, r) ? line : "none\n");
    join(t);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    join(c);
    return conform_status();
}

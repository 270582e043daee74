/*
 * A thread that spins on a plain flag, with no call at all, does not keep others from running, on one CPU
 * or processor too: the setter was created after it, or sleeps first, or waits for a pipe.  POSIX 2.9
 * (threads are scheduled independently under SCHED_OTHER).
 */
#include "conform.h"

enum { SPINNERS = 4 };

static int flag, go[2];

static void *
spinner(void *arg)
{
    unsigned long n = 0;

    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        n++;
    return (void *)(intptr_t)(n > 0 || arg != NULL);
}

static void *
setter(void *arg)
{
    char c;

    switch ((intptr_t)arg) {
    case 1: msleep(5); break;
    case 2: CHECK(read(go[0], &c, 1) == 1); break;
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return NULL;
}

int
main(void)
{
    static const char *const name[] = { "created later", "sleeps first", "waits for a pipe" };
    pthread_t t[SPINNERS], s = 0;
    int how, i;

    CHECK(pipe(go) == 0);
    for (how = 0; how < 3; how++) {
        flag = 0;
        if (how > 0)
            s = spawn(setter, (void *)(intptr_t)how);
        for (i = 0; i < SPINNERS; i++)
            t[i] = spawn(spinner, (void *)1);
        if (how == 0)
            s = spawn(setter, (void *)0);
        if (how == 2)
            CHECK(write(go[1], "x", 1) == 1);
        for (i = 0; i < SPINNERS; i++)
            CHECK(join(t[i]) == (void *)1);
        join(s);
        printf("%s: all ended\n", name[how]);
    }
    return conform_status();
}

/*
 * Forty threads each set a name of their own and still have it after blocking and yielding; prctl's
 * PR_GET_NAME and PR_SET_NAME speak of the same name.  pthread_setname_np(3), prctl(2).
 */
#include "conform.h"
#include <sys/prctl.h>

static void *
body(void *arg)
{
    char mine[16], got[17] = "";
    intptr_t bad = 0;
    int i;

    snprintf(mine, sizeof mine, "thread-%d", (int)(intptr_t)arg);
    pthread_setname_np(pthread_self(), mine);
    start_wait();
    for (i = 0; i < 5; i++) {
        msleep(1);
        sched_yield();
        pthread_getname_np(pthread_self(), got, 16);
        bad += strcmp(got, mine) != 0;
        prctl(PR_GET_NAME, got);
        bad += strcmp(got, mine) != 0;
    }
    mine[0] = 'T';
    prctl(PR_SET_NAME, mine);
    msleep(1);
    pthread_getname_np(pthread_self(), got, 16);
    bad += strcmp(got, mine) != 0;
    return (void *)bad;
}

int
main(void)
{
    pthread_t t[40];
    intptr_t i, bad = 0;

    start_init(40);
    for (i = 0; i < 40; i++)
        t[i] = spawn(body, (void *)i);
    for (i = 0; i < 40; i++)
        bad += (intptr_t)join(t[i]);
    printf("wrong names %ld\n", (long)bad);
    return conform_status();
}

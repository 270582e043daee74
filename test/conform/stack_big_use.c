/*
 * Twenty threads with 8 MiB stacks touch 4 MiB each while all are alive, and find their bytes again
 * after blocking.  POSIX pthread_attr_setstacksize.
 */
#include "conform.h"

static void *
body(void *arg)
{
    volatile unsigned char a[4 << 20];
    unsigned char v = (unsigned char)(intptr_t)arg;
    intptr_t good = 0;
    size_t i;

    for (i = 0; i < sizeof a; i += 1024)
        a[i] = (unsigned char)(v + i / 1024);
    start_wait();
    msleep(1);
    for (i = 0; i < sizeof a; i += 1024)
        good += a[i] == (unsigned char)(v + i / 1024);
    return (void *)good;
}

int
main(void)
{
    pthread_attr_t at;
    pthread_t t[20];
    intptr_t i, good = 0;

    OK(pthread_attr_init(&at));
    OK(pthread_attr_setstacksize(&at, 8 << 20));
    start_init(20);
    for (i = 0; i < 20; i++)
        OK(pthread_create(&t[i], &at, body, (void *)i));
    for (i = 0; i < 20; i++)
        good += (intptr_t)join(t[i]);
    printf("good %ld of %d\n", (long)good, 20 * 4096);
    return conform_status();
}

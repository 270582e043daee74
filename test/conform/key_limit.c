/*
 * PTHREAD_KEYS_MAX keys can exist (less those that the implementation took before main: none natively), the
 * next is EAGAIN, and after a delete one more can be made, from a thread as well.
 * POSIX pthread_key_create.
 */
#include "conform.h"
#include <limits.h>

static pthread_key_t key[PTHREAD_KEYS_MAX + 1];

static int
fill(int n)
{
    int e;

    while ((e = pthread_key_create(&key[n], NULL)) == 0 && n < PTHREAD_KEYS_MAX)
        n++;
    printf("keys %d, then %s\n", n, errname(e));
    return n;
}

static void *
body(void *arg)
{
    int n = *(int *)arg, i;
    intptr_t bad = 0;

    RC(pthread_key_delete(key[n - 1]));
    RC(pthread_key_create(&key[n - 1], NULL));
    fill(n);
    for (i = 0; i < n; i++)
        bad += pthread_setspecific(key[i], &key[i]) != 0;
    for (i = 0; i < n; i++)
        bad += pthread_getspecific(key[i]) != &key[i];
    return (void *)bad;
}

int
main(void)
{
    int n = fill(0), i;

    printf("sysconf %ld\n", sysconf(_SC_THREAD_KEYS_MAX));
    printf("bad %ld\n", (long)(intptr_t)join(spawn(body, &n)));
    for (i = 0; i < n; i++)
        OK(pthread_key_delete(key[i]));
    n = fill(0);
    return conform_status();
}

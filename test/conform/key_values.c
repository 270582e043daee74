/*
 * Thread-specific data: NULL at first in every thread, each thread's own, kept over blocking; EINVAL for a key
 * that does not exist.  POSIX pthread_setspecific.
 */
#include "conform.h"

#define N 20
#define KEYS 40         /* more than glibc's first-level block of 32 */

static pthread_key_t key[KEYS];

static void *
body(void *arg)
{
    intptr_t me = (intptr_t)arg, bad = 0;
    int i, k;

    for (k = 0; k < KEYS; k++)
        bad += pthread_getspecific(key[k]) != NULL;
    for (k = 0; k < KEYS; k++)
        bad += pthread_setspecific(key[k], (void *)(me * 100 + k + 1)) != 0;
    start_wait();
    for (i = 0; i < 3; i++) {
        msleep(1);
        for (k = 0; k < KEYS; k++)
            bad += pthread_getspecific(key[k]) != (void *)(me * 100 + k + 1);
    }
    return (void *)bad;
}

int
main(void)
{
    pthread_t t[N];
    intptr_t i, bad = 0;
    int k;

    for (k = 0; k < KEYS; k++)
        OK(pthread_key_create(&key[k], NULL));
    OK(pthread_setspecific(key[0], "main's"));
    OK(pthread_setspecific(key[KEYS - 1], "main's last"));
    start_init(N);
    for (i = 0; i < N; i++)
        t[i] = spawn(body, (void *)i);
    for (i = 0; i < N; i++)
        bad += (intptr_t)join(t[i]);
    printf("bad %ld, %s, %s\n", (long)bad, (char *)pthread_getspecific(key[0]), (char *)pthread_getspecific(key[KEYS - 1]));
    RC(pthread_key_delete(key[3]));
    RC(pthread_setspecific(key[3], &bad));
    RC(pthread_key_delete(key[3]));
    RC(pthread_setspecific(100000, &bad));
    RC(pthread_key_delete(100000));
    printf("unknown key: %s\n", pthread_getspecific(100000) == NULL ? "NULL" : "not NULL");
    return conform_status();
}

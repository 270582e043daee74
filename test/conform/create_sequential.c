/*
 * Five thousand threads, one after the other: each is joined before the next, so that stacks and
 * thread blocks are reused.  A reused thread starts with zeroed __thread variables, errno 0 and
 * no thread-specific data.  POSIX pthread_create, pthread_key_create.
 */
#include "conform.h"

static __thread int counter;
static __thread char big[3000];
static pthread_key_t key;

static void *
body(void *arg)
{
    long bad = 0;
    size_t i;

    bad += errno != 0;
    bad += counter != 0;
    bad += pthread_getspecific(key) != NULL;
    for (i = 0; i < sizeof big; i++)
        bad += big[i] != 0;
    errno = EDOM;
    counter = 7;
    memset(big, 0x5a, sizeof big);
    pthread_setspecific(key, arg);
    return (void *)bad;
}

int
main(void)
{
    long bad = 0;
    int i;

    OK(pthread_key_create(&key, NULL));
    for (i = 0; i < 5000; i++)
        bad += (long)(intptr_t)join(spawn(body, &bad));
    printf("5000 threads, left over from earlier ones: %ld\n", bad);
    return conform_status();
}

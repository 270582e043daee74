/*
 * A key deleted and created again starts with NULL in every thread, those too that had a value under the old
 * key.  POSIX pthread_key_create.
 */
#include "conform.h"

static pthread_key_t key;
static int destroyed;

static void
counts(void *v)
{
    (void)v;
    destroyed++;
}

static void *
body(void *arg)
{
    pthread_setspecific(key, "old");
    start_wait();
    start_wait();
    printf("after the new key: %s\n", pthread_getspecific(key) == NULL ? "NULL" : "old value");
    return arg;
}

int
main(void)
{
    pthread_key_t old;
    pthread_t t;
    int i, same = 0;

    OK(pthread_key_create(&key, counts));
    OK(pthread_setspecific(key, "main's"));
    old = key;
    start_init(2);
    t = spawn(body, NULL);
    start_wait();
    RC(pthread_key_delete(key));
    RC(pthread_key_create(&key, counts));
    printf("number reused %d, main's value %s\n", key == old, pthread_getspecific(key) == NULL ? "NULL" : "old");
    start_wait();
    join(t);
    printf("destroyed %d\n", destroyed);
    for (i = 0; i < 5000; i++) {
        OK(pthread_key_delete(key));
        OK(pthread_key_create(&key, NULL));
        same += key == old;
    }
    printf("created 5000 times, same number %d\n", same);
    return conform_status();
}

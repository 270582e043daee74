/*
 * While one reader holds the lock and a writer waits: with the default kind another reader gets in, with
 * PREFER_WRITER_NONRECURSIVE it gets EBUSY until the writer has been.  glibc
 * pthread_rwlockattr_setkind_np(3).
 */
#include "conform.h"

static pthread_rwlock_t l;
static int written;

static void *
writes(void *arg)
{
    pthread_rwlock_wrlock(&l);
    written++;
    pthread_rwlock_unlock(&l);
    return arg;
}

static void
play(const char *name, int kind, int prefers)
{
    pthread_rwlockattr_t a;
    pthread_t t;
    int got = -1, e;

    OK(pthread_rwlockattr_init(&a));
    OK(pthread_rwlockattr_getkind_np(&a, &got));
    printf("%s: default kind %d, ", name, got == PTHREAD_RWLOCK_DEFAULT_NP);
    OK(pthread_rwlockattr_setkind_np(&a, kind));
    OK(pthread_rwlockattr_getkind_np(&a, &got));
    printf("read back %d\n", got == kind);
    OK(pthread_rwlock_init(&l, &a));
    OK(pthread_rwlock_rdlock(&l));
    written = 0;
    t = spawn(writes, NULL);
    msleep(20);
    while ((e = pthread_rwlock_tryrdlock(&l)) == 0 && prefers) {
        pthread_rwlock_unlock(&l);      /* the writer does not wait yet */
        msleep(1);
    }
    printf("  second reader: %s, written %d\n", errname(e), written);
    if (e == 0)
        RC(pthread_rwlock_unlock(&l));
    RC(pthread_rwlock_unlock(&l));
    join(t);
    printf("  written %d, reader %s\n", written, errname(pthread_rwlock_tryrdlock(&l)));
    OK(pthread_rwlock_unlock(&l));
    OK(pthread_rwlock_destroy(&l));
}

int
main(void)
{
    pthread_rwlockattr_t a;

    play("prefer reader", PTHREAD_RWLOCK_PREFER_READER_NP, 0);
    play("prefer writer, recursive readers", PTHREAD_RWLOCK_PREFER_WRITER_NP, 0);
    play("prefer writer", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, 1);
    OK(pthread_rwlockattr_init(&a));
    RC(pthread_rwlockattr_setkind_np(&a, 99));
    RC(pthread_rwlockattr_setpshared(&a, 99));
    return conform_status();
}

/* Read-write locks on foreign threads. */
#define _GNU_SOURCE 1
#include "unit.h"

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;

TestSuite(rwlock, .timeout = 30);

static int
tryrd(void)
{
    return rwlock_rdlock(&rw, 0, true);
}

static int
trywr(void)
{
    return rwlock_wrlock(&rw, 0, true);
}

static int
timedrd(void)
{
    return rwlock_rdlock(&rw, in_ms(20), false);
}

static int
timedwr(void)
{
    return rwlock_wrlock(&rw, in_ms(20), false);
}

static void *
callfn(void *fn)
{
    return (void *)(long)((int (*)(void))fn)();
}

static long
elsewhere(int (*fn)(void))
{
    return (long)reap(spawn(callfn, (void *)fn));
}

static int
release(void)
{
    return rwlock_unlock(&rw);
}

static bool
isfree(void)
{
    return rw.__data.__readers == 0 && rw.__data.__writers == 0 && !parkedat(&rw.__data.__readers);
}

Test(rwlock, readers_share)
{
    cr_expect_eq(tryrd(), 0);
    cr_expect_eq(rwlock_rdlock(&rw, 0, false), 0);
    cr_expect_eq(elsewhere(tryrd), 0);
    cr_expect_eq(trywr(), -EBUSY);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect(isfree());
    cr_expect_eq(trywr(), 0);
}

Test(rwlock, writer_excludes)
{
    cr_expect_eq(rwlock_wrlock(&rw, 0, false), 0);
    cr_expect_eq(trywr(), -EBUSY);
    cr_expect_eq(tryrd(), -EBUSY);
    cr_expect_eq(rwlock_wrlock(&rw, 0, false), -EDEADLK);
    cr_expect_eq(rwlock_rdlock(&rw, 0, false), -EDEADLK);
    cr_expect_eq(elsewhere(tryrd), -EBUSY);
    cr_expect_eq(elsewhere(timedrd), -ETIMEDOUT);
    cr_expect_eq(elsewhere(timedwr), -ETIMEDOUT);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect(isfree());
}

Test(rwlock, deadline_errors)
{
    cr_expect_eq(rwlock_rdlock(&rw, -EINVAL, false), 0, "only a wait looks at the time");
    cr_expect_eq(elsewhere(timedwr), -ETIMEDOUT);
    cr_expect_eq(rwlock_wrlock(&rw, -EINVAL, false), -EINVAL);
    cr_expect_eq(rwlock_wrlock(&rw, 1, false), -ETIMEDOUT);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect(isfree());
}

/* libc's own functions understand what we left, and the other way round. */
Test(rwlock, same_layout_as_libc)
{
    tryrd();
    cr_expect_eq(pthread_rwlock_tryrdlock(&rw), 0);
    cr_expect_eq(pthread_rwlock_trywrlock(&rw), EBUSY);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect_eq(pthread_rwlock_wrlock(&rw), 0);
    cr_expect_eq(elsewhere(tryrd), -EBUSY);
    cr_expect_eq(rwlock_wrlock(&rw, 0, false), -EDEADLK);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect_eq(pthread_rwlock_rdlock(&rw), 0);
    cr_expect_eq(trywr(), -EBUSY);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect_eq(trywr(), 0);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    cr_expect_eq(pthread_rwlock_destroy(&rw), 0);
}

static _Atomic int order, writerat, readersat;

static void *
writer(void *unused)
{
    rwlock_wrlock(&rw, 0, false);
    store_rlx(&writerat, atomic_fetch_add(&order, 1) + 1);
    usleep(1000);
    rwlock_unlock(&rw);
    return unused;
}

static void *
reader(void *unused)
{
    rwlock_rdlock(&rw, 0, false);
    store_rlx(&readersat, atomic_fetch_add(&order, 1) + 1);
    rwlock_unlock(&rw);
    return unused;
}

static void
prefer(int pref)
{
    pthread_rwlockattr_t attr;

    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, pref);
    pthread_rwlock_init(&rw, &attr);
}

Test(rwlock, prefers_readers)
{
    pthread_t w;

    tryrd();
    w = spawn(writer, NULL);
    until(parkedat(&rw.__data.__readers));
    cr_expect_eq(elsewhere(tryrd), 0, "a waiting writer does not keep readers out");
    cr_expect_eq(elsewhere(release), 0);
    cr_expect_eq(rwlock_unlock(&rw), 0);
    reap(w);
    cr_expect(isfree());
}

Test(rwlock, prefers_writers)
{
    pthread_t w, r[3];

    prefer(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    tryrd();
    w = spawn(writer, NULL);
    until(parkedat(&rw.__data.__readers));
    cr_expect_eq(elsewhere(tryrd), -EBUSY);
    for (int i = 0; i < 3; i++)
        r[i] = spawn(reader, NULL);
    usleep(20000);
    cr_expect_eq(load_rlx(&order), 0);
    rwlock_unlock(&rw);
    reap(w);
    for (int i = 0; i < 3; i++)
        reap(r[i]);
    cr_expect_eq(load_rlx(&writerat), 1);
    cr_expect(isfree());
}

/* A writer that gives up lets the readers through that waited behind it. */
Test(rwlock, writer_gives_up)
{
    pthread_t w, r;

    prefer(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    tryrd();
    w = spawn(callfn, (void *)timedwr);
    until(parkedat(&rw.__data.__readers));
    r = spawn(reader, NULL);
    cr_expect_eq((long)reap(w), -ETIMEDOUT);
    reap(r);
    cr_expect_eq(load_rlx(&readersat), 1);
    rwlock_unlock(&rw);
    cr_expect(isfree());
}

Test(rwlock, writer_wakes_all_readers)
{
    pthread_t r[4];

    rwlock_wrlock(&rw, 0, false);
    for (int i = 0; i < 4; i++)
        r[i] = spawn(reader, NULL);
    usleep(20000);
    cr_expect_eq(load_rlx(&order), 0);
    rwlock_unlock(&rw);
    for (int i = 0; i < 4; i++)
        reap(r[i]);
    cr_expect_eq(load_rlx(&order), 4);
    cr_expect(isfree());
}

Test(rwlock, too_many_readers)
{
    rw.__data.__readers = 0u - 16;
    cr_expect_eq(tryrd(), -EAGAIN);
}

static long a, b;
static _Atomic int wrong;

static void *
mixed(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < 20000; i++) {
        int what = rand_r(&seed) % 8;

        if (what == 0) {
            rwlock_wrlock(&rw, 0, false);
        } else if (what == 1) {
            if (rwlock_wrlock(&rw, nanotime() + rand_r(&seed) % 20000, false) != 0)
                continue;
        } else if (what == 2) {
            if (rwlock_rdlock(&rw, nanotime() + rand_r(&seed) % 20000, false) != 0)
                continue;
        } else {
            rwlock_rdlock(&rw, 0, false);
        }
        if (a != b)
            atomic_fetch_add(&wrong, 1);
        if (what < 2) {
            a++;
            b++;
        }
        rwlock_unlock(&rw);
    }
    return NULL;
}

static void
invariant(int pref)
{
    pthread_t th[6];

    prefer(pref);
    for (uintptr_t i = 0; i < 6; i++)
        th[i] = spawn(mixed, (void *)(i + 1));
    for (int i = 0; i < 6; i++)
        reap(th[i]);
    cr_expect_eq(load_rlx(&wrong), 0);
    cr_expect_eq(a, b);
    cr_expect(isfree(), "%x %u", rw.__data.__readers, rw.__data.__writers);
}

Test(rwlock, invariant)
{
    invariant(PTHREAD_RWLOCK_PREFER_READER_NP);
}

Test(rwlock, invariant_preferring_writers)
{
    invariant(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

/*
 * flock and open-file-description locks between threads with descriptions of their own: a waiter gets the
 * lock only after the holder lets go, and six threads exclude one another.  flock(2), fcntl(2).
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/file.h>

enum { THREADS = 6, ROUNDS = 50 };

static const char path[] = "conform.lock";
static int got, inside, most, ofd;
static unsigned long count;

/* Takes (or lets go) the lock of the kind under test. */
static int
lock(int fd, int how)
{
    struct flock fl = { .l_whence = SEEK_SET };

    if (!ofd)
        return flock(fd, how);
    fl.l_type = how & LOCK_UN ? F_UNLCK : F_WRLCK;
    return fcntl(fd, how & LOCK_NB ? F_OFD_SETLK : F_OFD_SETLKW, &fl);
}

static void *
waiter(void *arg)
{
    int fd = open(path, O_RDWR);

    (void)arg;
    CHECK(lock(fd, LOCK_EX) == 0);
    __atomic_store_n(&got, 1, __ATOMIC_RELEASE);
    close(fd);
    return NULL;
}

static void *
excluder(void *arg)
{
    int fd = open(path, O_RDWR), i;

    (void)arg;
    for (i = 0; i < ROUNDS; i++) {
        int n;

        CHECK(lock(fd, LOCK_EX) == 0);
        n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        most = n > most ? n : most;
        count++;
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        CHECK(lock(fd, LOCK_UN) == 0);
    }
    close(fd);
    return NULL;
}

int
main(void)
{
    pthread_t t[THREADS];
    int fd = open(path, O_RDWR | O_CREAT, 0600), fd2, i;

    for (ofd = 0; ofd < 2; ofd++) {
        printf("%s\n", ofd ? "open-file-description locks" : "flock");
        got = 0;
        count = 0;
        CHECK(lock(fd, LOCK_EX) == 0);
        t[0] = spawn(waiter, NULL);
        msleep(30);
        printf("while held: %s\n", __atomic_load_n(&got, __ATOMIC_ACQUIRE) ? "got it" : "waits");
        fd2 = open(path, O_RDWR);
        SYS(lock(fd2, LOCK_EX | LOCK_NB));
        close(fd2);
        CHECK(lock(fd, LOCK_UN) == 0);
        join(t[0]);
        for (i = 0; i < THREADS; i++)
            t[i] = spawn(excluder, NULL);
        for (i = 0; i < THREADS; i++)
            join(t[i]);
        printf("count %lu, most inside %d\n", count, most);
    }
    unlink(path);
    return conform_status();
}

/*
 * Calls that are no cancellation points: a thread that is cancelled while it blocks in a mutex, rwlock, barrier,
 * spin lock, flock or semop goes on when it gets what it waits for, and is cancelled at its next point; with a
 * request pending they do not act on it.  POSIX 2.9.5.2.
 */
#include "conform.h"
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/sem.h>

enum { Mutex, Timed, Rdlock, Wrlock, Barrier, Once, Flock, Semop, Disabled, N };
static const char *const names[] = { "mutex", "timedlock", "rdlock", "wrlock", "barrier", "once", "flock", "semop", "read, disabled" };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t b;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t go;
static int semid, locked, other, fd[2];
static int passed[N];

static void
slow(void)
{
    int old;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    while (sem_wait(&go) != 0)
        ;
    pthread_setcancelstate(old, NULL);
}

static void *
oncer(void *arg)
{
    pthread_once(&once, slow);
    return arg;
}

static void
wait_in(int how)
{
    struct timespec ts = after_ms(CLOCK_REALTIME, 100000);
    struct sembuf down = { 0, -1, 0 };
    char c;

    switch (how) {
    case Mutex: OK(pthread_mutex_lock(&m)); OK(pthread_mutex_unlock(&m)); break;
    case Timed: OK(pthread_mutex_timedlock(&m, &ts)); OK(pthread_mutex_unlock(&m)); break;
    case Rdlock: OK(pthread_rwlock_rdlock(&rw)); OK(pthread_rwlock_unlock(&rw)); break;
    case Wrlock: OK(pthread_rwlock_wrlock(&rw)); OK(pthread_rwlock_unlock(&rw)); break;
    case Barrier: pthread_barrier_wait(&b); break;
    case Once: OK(pthread_once(&once, slow)); break;
    case Flock: CHECK(flock(other, LOCK_EX) == 0); break;
    case Semop: CHECK(semop(semid, &down, 1) == 0); break;
    default:
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        CHECK(read(fd[0], &c, 1) == 1);
        usleep(2000);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    }
}

static void *
body(void *arg)
{
    int how = (int)(intptr_t)arg;

    wait_in(how);
    passed[how]++;
    pthread_testcancel();
    passed[how] = 99;
    return NULL;
}

static void *
pending(void *arg)
{
    sem_t s;

    pthread_cancel(pthread_self());
    sem_init(&s, 0, 0);
    sem_post(&s);
    sched_yield();
    OK(pthread_mutex_lock(&m));
    OK(pthread_mutex_unlock(&m));
    CHECK(sem_trywait(&s) == 0 && flock(other, LOCK_EX) == 0 && flock(other, LOCK_UN) == 0);
    CHECK(kill(getpid(), 0) == 0 && pthread_kill(pthread_self(), 0) == 0);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    *(int *)arg = 1;
    pthread_testcancel();
    *(int *)arg = 2;
    return NULL;
}

int
main(void)
{
    struct sembuf up = { 0, 1, 0 };
    pthread_t t, o;
    int reached_it = 0;

    CHECK(pipe(fd) == 0);
    locked = open("lock", O_RDWR | O_CREAT, 0600);
    other = open("lock", O_RDWR);
    CHECK(flock(locked, LOCK_EX) == 0);
    semid = semget(IPC_PRIVATE, 1, 0600);
    CHECK(semid >= 0);
    sem_init(&go, 0, 0);
    pthread_barrier_init(&b, NULL, 2);
    OK(pthread_mutex_lock(&m));
    OK(pthread_rwlock_wrlock(&rw));
    o = spawn(oncer, NULL);
    msleep(5);
    for (intptr_t i = 0; i < N; i++) {
        t = spawn(body, (void *)i);
        msleep(15);
        OK(pthread_cancel(t));
        msleep(15);
        printf("%s: %s, ", names[i], passed[i] ? "not blocked" : "goes on waiting");
        switch (i) {
        case Mutex: OK(pthread_mutex_unlock(&m)); break;
        case Timed: OK(pthread_mutex_unlock(&m)); break;
        case Rdlock: case Wrlock: OK(pthread_rwlock_unlock(&rw)); break;
        case Barrier: pthread_barrier_wait(&b); break;
        case Once: sem_post(&go); break;
        case Flock: CHECK(flock(locked, LOCK_UN) == 0); break;
        case Semop: CHECK(semop(semid, &up, 1) == 0); break;
        default: CHECK(write(fd[1], "x", 1) == 1);
        }
        printf("canceled %d, ", join(t) == PTHREAD_CANCELED);
        printf("passed %d\n", passed[i]);
        if (i == Mutex)
            OK(pthread_mutex_lock(&m));
        if (i == Rdlock)
            OK(pthread_rwlock_wrlock(&rw));
        if (i == Flock)
            close(other), other = open("lock", O_RDWR);
    }
    join(o);
    t = spawn(pending, &reached_it);
    printf("pending: canceled %d, ", join(t) == PTHREAD_CANCELED);
    printf("got to %d\n", reached_it);
    semctl(semid, 0, IPC_RMID);
    return conform_status();
}

/* Signals and cancellation reach a thread that waits at an object which processes share: a semaphore, a condition
 * variable, a barrier, a mutex, a read-write lock. The handler runs at once; only the semaphore's wait ends with EINTR. */
#include "conform.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

static struct shared {
    sem_t sem;
    pthread_mutex_t lock, held;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    pthread_rwlock_t rw;
    int go;
} *sh;

static volatile sig_atomic_t ran, cleaned, waiting;

static void onsig(int s) { (void)s; ran++; }

static void
clean(void *arg)
{
    (void)arg;
    cleaned++;
    /* natively it holds the mutex again; if not, this would say EPERM for an error-checking one */
    printf("unlock in the cleanup handler: %s\n", errname(pthread_mutex_unlock(&sh->lock)));
}

static void *
semwait(void *arg)
{
    int r;

    (void)arg;
    waiting = 1;
    r = sem_wait(&sh->sem);
    printf("sem_wait: %s\n", errname(r == 0 ? 0 : errno));
    waiting = 1;
    sem_wait(&sh->sem);
    return NULL;
}

static void *
semtimed(void *arg)
{
    struct timespec ts;
    int r;

    (void)arg;
    clock_gettime(CLOCK_REALTIME, &ts);
    ts.tv_nsec += 20000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    r = sem_timedwait(&sh->sem, &ts);
    printf("sem_timedwait: %s\n", errname(r == 0 ? 0 : errno));
    return NULL;
}

static void *
condwait(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&sh->lock);
    pthread_cleanup_push(clean, NULL);
    waiting = 1;
    while (!sh->go)
        pthread_cond_wait(&sh->cond, &sh->lock);
    pthread_cleanup_pop(0);
    pthread_mutex_unlock(&sh->lock);
    return NULL;
}

static void *
lockwait(void *arg)
{
    (void)arg;
    waiting = 1;
    pthread_mutex_lock(&sh->held);
    pthread_mutex_unlock(&sh->held);
    return NULL;
}

static void *
rwwait(void *arg)
{
    (void)arg;
    waiting = 1;
    pthread_rwlock_wrlock(&sh->rw);
    pthread_rwlock_unlock(&sh->rw);
    return NULL;
}

static void *
barrierwait(void *arg)
{
    (void)arg;
    waiting = 1;
    pthread_barrier_wait(&sh->barrier);
    return NULL;
}

static pthread_t
begin(void *(*fn)(void *))
{
    pthread_t th;

    waiting = 0;
    CHECK(pthread_create(&th, NULL, fn, NULL) == 0);
    while (!waiting)
        usleep(1000);
    usleep(30000);
    return th;
}

/* Until the handler has run once more; how often in all is not printed. */
static void
signalled(const char *what, pthread_t th)
{
    int before = ran;

    CHECK(pthread_kill(th, SIGUSR1) == 0);
    for (int i = 0; i < 1000 && ran == before; i++)
        usleep(10000);
    printf("%s: handler %s\n", what, ran > before ? "ran" : "did not run");
}

static void
cancelled(const char *what, pthread_t th)
{
    void *ret = NULL;

    CHECK(pthread_cancel(th) == 0);
    CHECK(pthread_join(th, &ret) == 0);
    printf("%s: %s\n", what, ret == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
}

static void
objects(void)
{
    pthread_mutexattr_t ma;
    pthread_condattr_t ca;
    pthread_barrierattr_t ba;
    pthread_rwlockattr_t ra;

    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(sh != MAP_FAILED);
    CHECK(sem_init(&sh->sem, 1, 0) == 0);
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK);
    CHECK(pthread_mutex_init(&sh->lock, &ma) == 0 && pthread_mutex_init(&sh->held, &ma) == 0);
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_cond_init(&sh->cond, &ca) == 0);
    pthread_barrierattr_init(&ba);
    pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_barrier_init(&sh->barrier, &ba, 2) == 0);
    pthread_rwlockattr_init(&ra);
    pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_rwlock_init(&sh->rw, &ra) == 0);
}

int
main(void)
{
    struct sigaction sa = { .sa_handler = onsig };
    pthread_t th;
    int v;

    objects();
    sigaction(SIGUSR1, &sa, NULL);
    th = begin(semwait);
    waiting = 0;
    signalled("semaphore", th);
    while (!waiting)
        usleep(1000);
    usleep(30000);
    cancelled("semaphore", th);
    th = begin(semwait);
    sem_post(&sh->sem);
    sem_post(&sh->sem);
    pthread_join(th, NULL);
    CHECK(pthread_create(&th, NULL, semtimed, NULL) == 0);
    pthread_join(th, NULL);
    sem_getvalue(&sh->sem, &v);
    printf("value left: %d\n", v);

    th = begin(condwait);
    signalled("condition variable", th);
    cancelled("condition variable", th);
    printf("cleaned up: %d\n", cleaned);
    th = begin(condwait);
    pthread_mutex_lock(&sh->lock);
    sh->go = 1;
    pthread_cond_broadcast(&sh->cond);
    pthread_mutex_unlock(&sh->lock);
    pthread_join(th, NULL);

    pthread_mutex_lock(&sh->held);
    th = begin(lockwait);
    signalled("mutex", th);
    pthread_mutex_unlock(&sh->held);
    pthread_join(th, NULL);

    pthread_rwlock_wrlock(&sh->rw);
    th = begin(rwwait);
    signalled("read-write lock", th);
    pthread_rwlock_unlock(&sh->rw);
    pthread_join(th, NULL);

    th = begin(barrierwait);
    signalled("barrier", th);
    pthread_barrier_wait(&sh->barrier);
    pthread_join(th, NULL);
    return conform_status();
}

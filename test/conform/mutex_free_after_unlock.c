/*
 * A mutex in memory whose last user frees it: the reference count is guarded by the mutex itself, and
 * whoever takes it to zero destroys and frees right after unlocking, while the one before may
 * still be on its way out of unlock.  POSIX pthread_mutex_destroy, "Destroying Mutexes".
 */
#include "conform.h"
#include <sys/mman.h>

struct obj {
    pthread_mutex_t m;
    int refs;
};

static struct obj *obj;

static void *
drop(void *arg)
{
    struct obj *o = obj;
    int last;

    (void)arg;
    start_wait();
    pthread_mutex_lock(&o->m);
    last = --o->refs == 0;
    pthread_mutex_unlock(&o->m);
    if (last) {
        pthread_mutex_destroy(&o->m);
        munmap(o, sizeof *o);
    }
    return (void *)(intptr_t)last;
}

int
main(void)
{
    pthread_t t[4];
    intptr_t lasts = 0;
    int i, r;

    start_init(4);
    for (r = 0; r < 200; r++) {
        obj = (struct obj *)mmap(NULL, sizeof *obj, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_mutex_init(&obj->m, NULL);
        obj->refs = 4;
        for (i = 0; i < 4; i++)
            t[i] = spawn(drop, NULL);
        for (i = 0; i < 4; i++)
            lasts += (intptr_t)join(t[i]);
    }
    printf("freed %ld\n", (long)lasts);
    return conform_status();
}

/*
 * The lock of an interpreter: held nearly always, let go of for a moment around a short call, handed over on request after 5 ms. Of
 * two threads neither is left without its turn: natively each has it hundreds of times in a second.
 */
#include "conform.h"
#include <sys/stat.h>

enum { TURNS = 40 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c;
static int locked;
static _Atomic int request, stop;
static unsigned long number;
static void *last;

static void
take(void *me)
{
    pthread_mutex_lock(&m);
    while (locked) {
        unsigned long saved = number;
        struct timespec ts = after_ms(CLOCK_MONOTONIC, 5);

        if (pthread_cond_timedwait(&c, &m, &ts) != 0 && locked && number == saved)
            request = 1;
    }
    locked = 1;
    if (last != me) {
        last = me;
        number++;
    }
    request = 0;
    pthread_mutex_unlock(&m);
}

static void
drop(void)
{
    pthread_mutex_lock(&m);
    locked = 0;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
}

static void
work(void)
{
    for (volatile int i = 0; i < 100; i++)
        ;
}

static void *
caller(void *me)
{
    struct stat st;

    take(me);
    while (!stop) {
        work();
        drop();
        stat("/", &st);
        take(me);
    }
    drop();
    return NULL;
}

int
main(void)
{
    pthread_condattr_t a;
    pthread_t t;
    int turns = 0;

    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&c, &a);
    t = spawn(caller, &c);
    while (turns < TURNS) {
        msleep(1);
        take(&m);
        turns++;
        work();
        drop();
    }
    stop = 1;
    join(t);
    printf("%d turns\n", turns);
    return conform_status();
}

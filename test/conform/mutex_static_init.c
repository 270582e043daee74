/*
 * The static initialisers of every mutex type give that type, in memory that was only copied too.
 * POSIX, glibc PTHREAD_*_INITIALIZER_NP.
 */
#include "conform.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t zeroed;

static void *
tries(void *arg)
{
    int e = pthread_mutex_trylock((pthread_mutex_t *)arg);

    if (e == 0)
        pthread_mutex_unlock((pthread_mutex_t *)arg);
    return (void *)(intptr_t)e;
}

static void
probe(const char *name, pthread_mutex_t *m)
{
    printf("%s: lock %s", name, errname(pthread_mutex_lock(m)));
    printf(", elsewhere %s", errname((int)(intptr_t)join(spawn(tries, m))));
    printf(", again %s", errname(pthread_mutex_trylock(m)));
    printf(", unlock %s", errname(pthread_mutex_unlock(m)));
    printf(", elsewhere %s\n", errname((int)(intptr_t)join(spawn(tries, m))));
}

int
main(void)
{
    pthread_mutex_t copy = PTHREAD_MUTEX_INITIALIZER;

    probe("normal", &normal);
    probe("recursive", &recursive);
    probe("errorcheck", &errorcheck);
    probe("adaptive", &adaptive);
    probe("zeroed", &zeroed);
    probe("on the stack", &copy);
    return conform_status();
}

/*
 * 500 threads one after another, and in waves of 10, so that stacks and thread blocks are used again: each
 * sees the initial values of its thread-local variables, a zero errno, no thread-specific data, the default
 * locale, rounding mode, cancel state and signal mask, whatever the one before left.  POSIX pthread_create.
 */
#include "conform.h"
#include <fenv.h>
#include <locale.h>
#include <signal.h>

static __thread int data = 7;
static __thread char big[3000];
static __thread char *text = (char *)"initial";
static pthread_key_t key;
static int stale[10];

static void *
worker(void *arg)
{
    int old, type;
    size_t i, nonzero = 0;
    sigset_t set;
    locale_t loc;

    (void)arg;
    for (i = 0; i < sizeof big; i++)
        nonzero += big[i] != 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    stale[0] += data != 7;
    stale[1] += nonzero != 0;
    stale[2] += strcmp(text, "initial") != 0;
    stale[3] += errno != 0;
    stale[4] += pthread_getspecific(key) != NULL;
    stale[5] += uselocale((locale_t)0) != LC_GLOBAL_LOCALE;
    stale[6] += fegetround() != FE_TONEAREST;
    stale[7] += old != PTHREAD_CANCEL_ENABLE;
    stale[8] += type != PTHREAD_CANCEL_DEFERRED;
    stale[9] += sigismember(&set, SIGUSR1) != 0;

    data = 8;
    memset(big, 1, sizeof big);
    text = NULL;
    pthread_setspecific(key, &data);
    loc = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    uselocale(loc);
    fesetround(FE_UPWARD);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    errno = E2BIG;
    return NULL;
}

/* The same, one at a time among ten that live at once. */
static void *
locked(void *arg)
{
    OK(pthread_mutex_lock(arg));
    worker(NULL);
    OK(pthread_mutex_unlock(arg));
    return NULL;
}

int
main(void)
{
    static const char *const name[] = { "data", "zero", "text", "errno", "specific", "locale", "rounding",
                                        "cancel state", "cancel type", "mask" };
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t[10];
    int i, j;

    OK(pthread_key_create(&key, NULL));
    for (i = 0; i < 300; i++)
        join(spawn(worker, NULL));
    for (i = 0; i < 20; i++) {
        for (j = 0; j < 10; j++)
            t[j] = spawn(locked, &m);
        for (j = 0; j < 10; j++)
            join(t[j]);
    }
    for (i = 0; i < 10; i++)
        printf("stale %s: %d\n", name[i], stale[i]);
    return conform_status();
}

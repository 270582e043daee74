/*
 * A once control used before the first pthread_create stays done after it, and one that creates the
 * first thread from inside its routine works.  POSIX pthread_once.
 */
#include "conform.h"

static pthread_once_t early = PTHREAD_ONCE_INIT, creating = PTHREAD_ONCE_INIT;
static int early_calls, creating_calls;

static void
count(void)
{
    early_calls++;
}

static void *
body(void *arg)
{
    pthread_once(&early, count);
    return arg;
}

static void
create(void)
{
    creating_calls++;
    join(spawn(body, NULL));
}

int
main(void)
{
    RC(pthread_once(&early, count));
    RC(pthread_once(&creating, create));
    RC(pthread_once(&creating, create));
    RC(pthread_once(&early, count));
    printf("early %d, creating %d\n", early_calls, creating_calls);
    return conform_status();
}

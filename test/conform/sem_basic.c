/*
 * Semaphores: initial value, trywait EAGAIN at zero, getvalue, EINVAL for a value above SEM_VALUE_MAX,
 * EOVERFLOW for a post at it.  POSIX sem_init, sem_post, sem_trywait.
 */
#include "conform.h"
#include <limits.h>
#include <semaphore.h>

static void
value(sem_t *s)
{
    int v = -1;

    SYS(sem_getvalue(s, &v));
    printf("value %d\n", v);
}

int
main(void)
{
    sem_t s;

    SYS(sem_init(&s, 0, 2));
    value(&s);
    SYS(sem_wait(&s));
    SYS(sem_trywait(&s));
    SYS(sem_trywait(&s));
    value(&s);
    SYS(sem_post(&s));
    value(&s);
    SYS(sem_wait(&s));
    SYS(sem_destroy(&s));
    SYS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1));
    SYS(sem_init(&s, 0, SEM_VALUE_MAX));
    SYS(sem_post(&s));
    SYS(sem_trywait(&s));
    SYS(sem_post(&s));
    SYS(sem_destroy(&s));
    return conform_status();
}

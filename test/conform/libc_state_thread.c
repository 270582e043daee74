/*
 * libc functions with state per thread or per caller: strerror of unknown numbers, strerror_l, strtok_r,
 * rand_r, drand48_r, localtime_r, and dlerror keep apart in threads that sleep in between.  POSIX 2.9.1;
 * strerror(3).
 */
#include "conform.h"
#include <dlfcn.h>
#include <sched.h>

enum { N = 8 };

static int wrong[4];

static void *
worker(void *arg)
{
    int id = (int)(intptr_t)arg, i;
    unsigned seed = (unsigned)id, again = (unsigned)id;
    struct drand48_data d;
    long first, v;
    char text[32], want[64], *save, *tok, *msg;
    struct tm tm;
    time_t when = 86400L * id;

    srand48_r(id, &d);
    lrand48_r(&d, &first);
    for (i = 0; i < 10; i++) {
        snprintf(want, sizeof want, "Unknown error %d", 10000 + id);
        msg = strerror(10000 + id);
        snprintf(text, sizeof text, "a%d,b%d,c%d", id, id, id);
        tok = strtok_r(text, ",", &save);
        msleep(1);
        sched_yield();
        wrong[0] += strcmp(msg, want) != 0;
        snprintf(want, sizeof want, "b%d", id);
        tok = strtok_r(NULL, ",", &save);
        wrong[1] += !tok || strcmp(tok, want) != 0;
        wrong[2] += rand_r(&seed) != rand_r(&again);
        srand48_r(id, &d);
        lrand48_r(&d, &v);
        wrong[2] += v != first;
        localtime_r(&when, &tm);
        wrong[3] += tm.tm_mday != 1 + id || tm.tm_year != 70;
    }
    return NULL;
}

static void *
dlworker(void *arg)
{
    char name[32];
    const char *e;

    snprintf(name, sizeof name, "./none-%d.so", (int)(intptr_t)arg);
    CHECK(dlopen(name, RTLD_NOW) == NULL);
    msleep(5);
    e = dlerror();
    CHECK(e && strncmp(e, name, strlen(name)) == 0);
    CHECK(dlerror() == NULL);
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i;

    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("wrong: strerror %d, strtok_r %d, random %d, localtime_r %d\n", wrong[0], wrong[1], wrong[2], wrong[3]);
    for (i = 0; i < N; i++)
        t[i] = spawn(dlworker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("dlerror done\n");
    return conform_status();
}

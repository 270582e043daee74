/*
 * The environment holds nothing that was not given: sorted names in the program and in a child it runs,
 * without those that start gossamer; setenv and getenv work from threads under a lock.  POSIX environ,
 * setenv.
 */
#include "conform.h"

extern char **environ;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether the variable belongs to those which the runner or the shell sets differently. */
static int
expected(const char *v)
{
    static const char *const name[] = { "LD_PRELOAD=", "GOMAXPROCS=", "_=", "SHLVL=", "PWD=", "OLDPWD=" };
    size_t i;

    for (i = 0; i < sizeof name / sizeof name[0]; i++) {
        if (strncmp(v, name[i], strlen(name[i])) == 0)
            return 1;
    }
    return 0;
}

static void
show(const char *who)
{
    char *v[1000];
    int n = 0, i;

    for (i = 0; environ[i] && n < 1000; i++) {
        if (!expected(environ[i]))
            v[n++] = environ[i];
    }
    qsort(v, (size_t)n, sizeof v[0], compare);
    printf("%s:", who);
    for (i = 0; i < n; i++)
        printf(" %.*s", (int)strcspn(v[i], "="), v[i]);
    printf("\n");
}

static void *
setter(void *arg)
{
    char name[32], value[32];
    int i, id = (int)(intptr_t)arg;

    for (i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "CONFORM_%d", id);
        snprintf(value, sizeof value, "%d", i);
        OK(pthread_mutex_lock(&mutex));
        CHECK(setenv(name, value, 1) == 0);
        OK(pthread_mutex_unlock(&mutex));
        msleep(1);
        OK(pthread_mutex_lock(&mutex));
        CHECK(getenv(name) && strcmp(getenv(name), value) == 0);
        OK(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

int
main(void)
{
    pthread_t t[4];
    char line[256];
    FILE *f;
    int i;

    show("start");
    for (i = 0; i < 4; i++)
        t[i] = spawn(setter, (void *)(intptr_t)i);
    for (i = 0; i < 4; i++)
        join(t[i]);
    show("with threads");
    f = popen("env | cut -d= -f1 | grep -v -e ^LD_PRELOAD -e ^GOMAXPROCS -e ^_$ -e SHLVL -e PWD | LC_ALL=C sort", "r");
    printf("child:");
    while (f && fgets(line, sizeof line, f))
        printf(" %.*s", (int)strcspn(line, "\n"), line);
    printf("\n");
    if (f)
        pclose(f);
    return conform_status();
}

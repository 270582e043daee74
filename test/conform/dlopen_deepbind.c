/*
 * A library opened with RTLD_DEEPBIND uses the same threads as the program: those that it creates the program joins,
 * its mutexes, condition variables, semaphores and reads work with the program's.  dlopen(3).  Builds it with cc.
 */
#include "conform.h"
#include <dlfcn.h>
#include <semaphore.h>

struct set {
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*join)(pthread_t, void **);
    int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
    int (*wait)(pthread_cond_t *, pthread_mutex_t *), (*signal)(pthread_cond_t *);
    int (*post)(sem_t *), (*swait)(sem_t *);
    ssize_t (*read)(int, void *, size_t);
    pthread_t (*self)(void);
};

enum { TURNS = 200 };

static struct set direct = { pthread_create, pthread_join, pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait,
                             pthread_cond_signal, sem_post, sem_wait, read, pthread_self };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c[2] = { PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER };
static int turn, fd[2];
static sem_t sem[2];
static pthread_t seen;

static void
play(const struct set *s, int mine)
{
    for (int i = 0; i < TURNS; i++) {
        OK(s->lock(&m));
        while (turn % 2 != mine)
            OK(s->wait(&c[mine], &m));
        turn++;
        OK(s->signal(&c[!mine]));
        OK(s->unlock(&m));
    }
    for (int i = 0; i < TURNS; i++) {
        CHECK(s->post(&sem[!mine]) == 0);
        CHECK(s->swait(&sem[mine]) == 0);
    }
}

static void *
body(void *arg)
{
    const struct set *s = (const struct set *)arg;
    char b = 0;

    seen = s->self();
    play(s, 1);
    CHECK(s->read(fd[0], &b, 1) == 1);
    return (void *)(intptr_t)b;
}

static void
test(const char *name, const struct set *s)
{
    pthread_t t;
    void *ret = NULL;

    if (s->create == NULL || s->join == NULL || s->lock == NULL || s->wait == NULL || s->swait == NULL || s->read == NULL) {
        printf("%s: not found\n", name);
        return;
    }
    turn = 0;
    OK(s->create(&t, NULL, body, (void *)(uintptr_t)s));
    play(&direct, 0);
    msleep(10);
    CHECK(write(fd[1], "r", 1) == 1);
    OK(s == &direct ? s->join(t, &ret) : pthread_join(t, &ret));
    printf("%s: turns %d, read %c, itself %d\n", name, turn, (int)(intptr_t)ret, pthread_equal(seen, t) != 0);
}

static const char source[] =
    "#include <pthread.h>\n#include <semaphore.h>\n#include <unistd.h>\n"
    "void *deep[] = { pthread_create, pthread_join, pthread_mutex_lock, pthread_mutex_unlock, pthread_cond_wait,\n"
    "pthread_cond_signal, sem_post, sem_wait, read, pthread_self };\n";

static int
library(struct set *s)
{
    FILE *f = fopen("deep.c", "w");
    void *h, **table;

    if (f == NULL || fputs(source, f) < 0 || fclose(f) != 0 || system("cc -w -shared -fPIC -o deep.so deep.c >/dev/null 2>&1") != 0)
        return 0;
    h = dlopen("./deep.so", RTLD_NOW | RTLD_DEEPBIND);
    table = h != NULL ? (void **)dlsym(h, "deep") : NULL;
    if (table == NULL)
        return 0;
    memcpy(s, table, sizeof *s);
    return 1;
}

int
main(void)
{
    struct set s;

    CHECK(pipe(fd) == 0);
    sem_init(&sem[0], 0, 0);
    sem_init(&sem[1], 0, 0);
    if (!library(&s))
        SKIP("no cc");
    test("RTLD_DEEPBIND", &s);
    test("direct", &direct);
    test("RTLD_DEEPBIND", &s);
    return conform_status();
}

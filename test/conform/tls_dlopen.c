/*
 * Thread-local variables of a library loaded by dlopen: dynamic and static (initial-exec) model, loaded
 * before any thread, and while threads live that then see the initial values; unloaded and loaded again.
 * ELF TLS; dlopen(3).  Builds the libraries with cc.
 */
#include "conform.h"
#include <dlfcn.h>
#include <sys/stat.h>

enum { N = 4 };

static const char source[] =
    "#ifdef IE\n"
    "#define MODEL __attribute__((tls_model(\"initial-exec\")))\n"
    "#else\n"
    "#define MODEL __attribute__((tls_model(\"global-dynamic\")))\n"
    "#endif\n"
    "__thread int counter MODEL = 100;\n"
    "__thread long zero[8] MODEL;\n"
    "int bump(int by) { zero[7] += by; counter += by; return counter; }\n"
    "long total(void) { return zero[7]; }\n";

struct lib {
    void *handle;
    int (*bump)(int);
    long (*total)(void);
};

static struct lib lib[3];
static int results[N][3];

static int
build(const char *so, const char *flags)
{
    char cmd[256];

    snprintf(cmd, sizeof cmd, "cc -shared -fPIC -O1 %s -o %s conform-tls.c >/dev/null 2>&1", flags, so);
    return system(cmd) == 0;
}

static void
load(struct lib *l, const char *so)
{
    l->handle = dlopen(so, RTLD_NOW);
    if (!l->handle) {
        printf("dlopen %s fails\n", so);
        exit(1);
    }
    *(void **)&l->bump = dlsym(l->handle, "bump");
    *(void **)&l->total = dlsym(l->handle, "total");
    CHECK(l->bump && l->total);
}

static void *
worker(void *arg)
{
    int id = (int)(intptr_t)arg, i, k;

    for (i = 0; i < 5; i++) {
        results[id][0] = lib[0].bump(id);
        msleep(1);
    }
    start_wait();       /* main loads the others now */
    start_wait();
    for (i = 0; i < 5; i++) {
        for (k = 1; k < 3; k++)
            results[id][k] = lib[k].bump(id + k);
        msleep(1);
    }
    for (k = 0; k < 3; k++)
        CHECK(lib[k].total() == results[id][k] - 100);
    return NULL;
}

static void *
once(void *arg)
{
    return (void *)(intptr_t)((struct lib *)arg)->bump(1);
}

int
main(void)
{
    pthread_t t[N];
    FILE *f = fopen("conform-tls.c", "w");
    int i;

    CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
    if (!build("./conform-a.so", "") || !build("./conform-b.so", "-DSECOND") || !build("./conform-c.so", "-DIE"))
        SKIP("no C compiler to build a shared library with");
    load(&lib[0], "./conform-a.so");
    start_init(N + 1);
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    start_wait();
    load(&lib[1], "./conform-b.so");
    load(&lib[2], "./conform-c.so");
    start_wait();
    for (i = 0; i < N; i++) {
        join(t[i]);
        printf("thread %d: %d %d %d\n", i, results[i][0], results[i][1], results[i][2]);
    }
    printf("main: %d %d %d\n", lib[0].bump(1), lib[1].bump(2), lib[2].bump(3));
    for (i = 0; i < 3; i++)
        printf("new thread: %d\n", (int)(intptr_t)join(spawn(once, &lib[i])));
    SYS(dlclose(lib[1].handle));
    load(&lib[1], "./conform-b.so");
    printf("loaded again: main %d, thread %d\n", lib[1].bump(1), (int)(intptr_t)join(spawn(once, &lib[1])));
    unlink("conform-tls.c");
    unlink("conform-a.so");
    unlink("conform-b.so");
    unlink("conform-c.so");
    return conform_status();
}

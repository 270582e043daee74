/*
 * One FILE and many threads: single calls are atomic, flockfile makes several calls one, ftrylockfile fails
 * while another thread holds the lock, the lock is recursive, nothing is lost.  POSIX flockfile, 2.5.1.
 */
#include "conform.h"

enum { N = 8, LINES = 300 };

static FILE *f;
static int held, tried;

static void *
printer(void *arg)
{
    int id = (int)(intptr_t)arg, i, j;

    for (i = 0; i < LINES; i++) {
        if (i % 2) {
            fprintf(f, "%d:%d %d%d%d%d%d%d%d%d\n", id, i, id, id, id, id, id, id, id, id);
            continue;
        }
        flockfile(f);
        fprintf(f, "%d:%d ", id, i);
        flockfile(f);
        for (j = 0; j < 8; j++)
            putc_unlocked('0' + id, f);
        funlockfile(f);
        putc('\n', f);
        funlockfile(f);
    }
    return NULL;
}

static void *
holder(void *arg)
{
    (void)arg;
    flockfile(f);
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&tried, __ATOMIC_ACQUIRE))
        msleep(1);
    msleep(10);
    fputs("held\n", f);
    funlockfile(f);
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    char line[64];
    int i, id, n, count[N] = { 0 }, torn = 0, disorder = 0, last[N];

    f = tmpfile();
    if (!f)
        SKIP("no temporary file");
    for (i = 0; i < N; i++) {
        last[i] = -1;
        t[i] = spawn(printer, (void *)(intptr_t)i);
    }
    for (i = 0; i < N; i++)
        join(t[i]);
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        char want[64];

        if (sscanf(line, "%d:%d", &id, &n) != 2 || id < 0 || id >= N) {
            torn++;
            continue;
        }
        snprintf(want, sizeof want, "%d:%d %d%d%d%d%d%d%d%d\n", id, n, id, id, id, id, id, id, id, id);
        torn += strcmp(line, want) != 0;
        disorder += n != last[id] + 1;
        last[id] = n;
        count[id]++;
    }
    printf("lines");
    for (i = 0; i < N; i++)
        printf(" %d", count[i]);
    printf(", torn %d, out of order %d\n", torn, disorder);

    rewind(f);
    t[0] = spawn(holder, NULL);
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
        msleep(1);
    printf("ftrylockfile while held: %s\n", ftrylockfile(f) ? "fails" : "succeeds");
    __atomic_store_n(&tried, 1, __ATOMIC_RELEASE);
    fputs("main\n", f);
    join(t[0]);
    printf("ftrylockfile when free: %s\n", ftrylockfile(f) ? "fails" : "succeeds");
    rewind(f);
    for (i = 0; i < 2; i++)
        printf("line %d: %s", i, fgets(line, sizeof line, f) ? line : "none\n");
    return conform_status();
}

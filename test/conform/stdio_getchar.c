/*
 * Loops of getc, ungetc, getline, fread and fscanf on pipes that other threads fill byte by byte: four
 * readers at once, each with its own FILE, and one FILE that four threads share.  POSIX getc, getline.
 */
#include "conform.h"

enum { N = 4, BYTES = 400 };

static FILE *shared;
static unsigned long sum;

struct task {
    int fd[2];
    unsigned long result;
    int how;
};

static void *
filler(void *arg)
{
    struct task *p = arg;
    char c;
    int i;

    for (i = 0; i < BYTES; i++) {
        c = i % 10 == 9 ? '\n' : (char)('0' + i % 7);
        CHECK(write(p->fd[1], &c, 1) == 1);
        if (i % 100 == 0)
            msleep(2);
    }
    close(p->fd[1]);
    return NULL;
}

static void *
reader(void *arg)
{
    struct task *p = arg;
    FILE *f = fdopen(p->fd[0], "r");
    char buf[7], *line = NULL;
    size_t size = 0, n;
    unsigned v;
    int c;

    switch (p->how) {
    case 0:
        while ((c = getc(f)) != EOF)
            p->result = p->result * 31 + (unsigned)c;
        break;
    case 1:
        while (getline(&line, &size, f) > 0)
            p->result = p->result * 31 + (unsigned)strlen(line);
        free(line);
        break;
    case 2:
        while ((n = fread(buf, 1, sizeof buf, f)) > 0)
            p->result = p->result * 31 + n;
        break;
    case 3:
        while ((c = getc(f)) != EOF) {
            ungetc(c, f);
            if (fscanf(f, "%u ", &v) != 1)
                break;
            p->result = p->result * 31 + v;
        }
        break;
    }
    fclose(f);
    return NULL;
}

static void *
sharer(void *arg)
{
    unsigned long s = 0;
    int c;

    (void)arg;
    while ((c = getc(shared)) != EOF)
        s += (unsigned)c;
    __atomic_fetch_add(&sum, s, __ATOMIC_RELAXED);
    return NULL;
}

int
main(void)
{
    static struct task task[N];
    pthread_t r[N], w[N];
    int i;

    for (i = 0; i < N; i++) {
        task[i].how = i;
        CHECK(pipe(task[i].fd) == 0);
        r[i] = spawn(reader, &task[i]);
    }
    msleep(10);
    for (i = 0; i < N; i++)
        w[i] = spawn(filler, &task[i]);
    for (i = 0; i < N; i++) {
        join(w[i]);
        join(r[i]);
        printf("reader %d: %lx\n", i, task[i].result);
    }
    CHECK(pipe(task[0].fd) == 0);
    shared = fdopen(task[0].fd[0], "r");
    for (i = 0; i < N; i++)
        r[i] = spawn(sharer, NULL);
    w[0] = spawn(filler, &task[0]);
    join(w[0]);
    for (i = 0; i < N; i++)
        join(r[i]);
    fclose(shared);
    printf("shared: sum %lu\n", sum);
    return conform_status();
}

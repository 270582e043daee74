/*
 * A profile as folded stacks: "main;worker;read;[IO wait] 12" a line, what
 * flamegraph.pl, speedscope and the like read.
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

/* A semicolon would end the frame. */
static void
putname(FILE *f, const char *s)
{
    for (; *s != '\0'; s++)
        putc(*s == ';' ? ':' : *s, f);
}

const char *
framename(const struct place *p, char *buf, size_t size)
{
    if (p->known)
        return p->function;
    if (p->module[0] != '\0')
        snprintf(buf, size, "[%s]", p->module);
    else
        snprintf(buf, size, "[unknown]");
    return buf;
}

struct line {
    char *key;
    int64_t weight;
};

static char *
keyof(const struct sample *s)
{
    char buf[PATH_MAX], *key;
    size_t size;
    FILE *f = xmemstream(&key, &size);

    if (s->stack->cut)
        fputs("[cut];", f);
    for (int j = s->stack->n - 1; j >= 0; j--) {
        putname(f, framename(stack_place(s->stack, j), buf, sizeof buf));
        if (j > 0 || s->state != NULL)
            putc(';', f);
    }
    if (s->state != NULL)
        fprintf(f, "[%s]", s->state);
    xmemclose(f);
    return key;
}

static int
bykey(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->key, ((const struct line *)b)->key);
}

static int
byweight(const void *a, const void *b)
{
    int64_t x = ((const struct line *)a)->weight, y = ((const struct line *)b)->weight;

    return x != y ? (x < y ? 1 : -1) : bykey(a, b);
}

/* Stacks that differ only in where in a function they are fall together here. */
void
folded_write(FILE *f, const struct profile *p)
{
    struct line *lines = xrealloc(NULL, p->n, sizeof *lines);
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        lines[i] = (struct line){ keyof(&p->samples[i]), p->samples[i].weight };
    if (p->n > 1)
        qsort(lines, p->n, sizeof *lines, bykey);
    for (size_t i = 0; i < p->n; i++)
        if (n > 0 && strcmp(lines[n - 1].key, lines[i].key) == 0) {
            lines[n - 1].weight += lines[i].weight;
            free(lines[i].key);
        } else {
            lines[n++] = lines[i];
        }
    if (n > 1)
        qsort(lines, n, sizeof *lines, byweight);
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s %ld\n", lines[i].key, lines[i].weight);
        free(lines[i].key);
    }
    free(lines);
}

/*
 * A hash table from numbers to numbers, and memory that is there or ends us:
 * a command that looks at something has nothing to save.
 */
#include "inspect.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
nomemory(void)
{
    complain("%s", strerror(ENOMEM));
    exit(EXIT_OWN);
}

void *
xrealloc(void *p, size_t n, size_t size)
{
    void *q = reallocarray(p, n != 0 ? n : 1, size);

    if (q == NULL)
        nomemory();
    return q;
}

FILE *
xmemstream(char **text, size_t *size)
{
    FILE *f;

    *text = NULL;
    f = open_memstream(text, size);
    if (f == NULL)
        nomemory();
    return f;
}

void
xmemclose(FILE *f)
{
    if (fclose(f) != 0)
        nomemory();
}

char *
xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;

    return memcpy(xrealloc(NULL, n, 1), s, n);
}

static struct entry *
slot(const struct table *t, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (t->size - 1);

    while (t->entries[i].used && t->entries[i].key != key)
        i = (i + 1) & (t->size - 1);
    return &t->entries[i];
}

static void
grow(struct table *t)
{
    struct table bigger = { .size = t->size != 0 ? 2 * t->size : 256 };

    bigger.entries = xrealloc(NULL, bigger.size, sizeof *bigger.entries);
    memset(bigger.entries, 0, bigger.size * sizeof *bigger.entries);
    for (size_t i = 0; i < t->size; i++)
        if (t->entries[i].used)
            *slot(&bigger, t->entries[i].key) = t->entries[i];
    bigger.n = t->n;
    free(t->entries);
    *t = bigger;
}

uint64_t *
table_at(struct table *t, uint64_t key)
{
    struct entry *e;

    if (2 * (t->n + 1) > t->size)
        grow(t);
    e = slot(t, key);
    if (!e->used) {
        *e = (struct entry){ .key = key, .used = true };
        t->n++;
    }
    return &e->value;
}

const uint64_t *
table_find(const struct table *t, uint64_t key)
{
    const struct entry *e;

    if (t->size == 0)
        return NULL;
    e = slot(t, key);
    return e->used ? &e->value : NULL;
}

void
table_free(struct table *t)
{
    free(t->entries);
    *t = (struct table){ 0 };
}

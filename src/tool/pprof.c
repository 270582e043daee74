/*
 * A profile in pprof's format: the message Profile of profile.proto, gzipped.
 * It is small and stable enough to be written by hand: varints, and lengths before
 * what is nested.
 */
#include "inspect.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct buffer {
    unsigned char *data;
    size_t n, room;
};

/* What refers to itself by number: strings, functions, locations. */
struct writer {
    struct buffer out;
    struct table strings, functions, locations;
    struct buffer text;         /* string_table, in the order of the indices */
    uint64_t nstrings, nfunctions, nlocations;
};

static void
put(struct buffer *b, const void *data, size_t n)
{
    if (b->room - b->n < n) {
        b->room = 2 * b->room + n + 256;
        b->data = xrealloc(b->data, b->room, 1);
    }
    if (n != 0)
        memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void
varint(struct buffer *b, uint64_t v)
{
    unsigned char byte;

    do {
        byte = (unsigned char)(v & 127) | (v > 127 ? 128 : 0);
        put(b, &byte, 1);
    } while ((v >>= 7) != 0);
}

static void
field(struct buffer *b, unsigned number, uint64_t v)
{
    if (v == 0)
        return;                 /* the default */
    varint(b, number << 3);
    varint(b, v);
}

static void
bytes(struct buffer *b, unsigned number, const void *data, size_t n)
{
    varint(b, number << 3 | 2);
    varint(b, n);
    put(b, data, n);
}

static void
nested(struct buffer *b, unsigned number, struct buffer *inner)
{
    bytes(b, number, inner->data, inner->n);
    free(inner->data);
    *inner = (struct buffer){ 0 };
}

/* The index of a string. Its hash is taken for the string: there are a few hundred, of 64 bits. */
static uint64_t
string(struct writer *w, const char *s)
{
    uint64_t h = 0xcbf29ce484222325u, *v;

    if (*s == '\0')
        return 0;
    for (const char *p = s; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    v = table_at(&w->strings, h);
    if (*v == 0) {
        *v = ++w->nstrings;
        bytes(&w->text, 6, s, strlen(s));
    }
    return *v;
}

static uint64_t
function(struct writer *w, const struct place *p)
{
    char buf[PATH_MAX];
    uint64_t name = string(w, framename(p, buf, sizeof buf)), file = string(w, p->file != NULL ? p->file : "");
    uint64_t *v = table_at(&w->functions, name << 32 | file);
    struct buffer b = { 0 };

    if (*v != 0)
        return *v;
    *v = ++w->nfunctions;
    field(&b, 1, w->nfunctions);
    field(&b, 2, name);
    field(&b, 3, name);
    field(&b, 4, file);
    nested(&w->out, 5, &b);
    return w->nfunctions;
}

/* pprof wants the address of the call, not the one behind it. */
static uint64_t
location(struct writer *w, const struct profile *p, const struct place *pl, bool call)
{
    uint64_t addr = pl->address - call, *v = table_at(&w->locations, addr), fn;
    struct buffer b = { 0 }, line = { 0 };

    if (*v != 0)
        return *v;
    *v = ++w->nlocations;
    fn = function(w, pl);
    field(&b, 1, w->nlocations);
    for (size_t i = 0; i < p->t->nmodules; i++)
        if (addr >= p->t->modules[i].start && addr < p->t->modules[i].end)
            field(&b, 2, i + 1);
    field(&b, 3, addr);
    field(&line, 1, fn);
    field(&line, 2, (uint64_t)pl->line);
    nested(&b, 4, &line);
    nested(&w->out, 4, &b);
    return w->nlocations;
}

/* The state is a function of its own, at an address that no code has. */
static uint64_t
stateloc(struct writer *w, const struct profile *p, const char *state)
{
    char name[64];
    struct place pl = { .function = name, .known = true, .module = "", .address = 1 + string(w, state) };

    snprintf(name, sizeof name, "[%s]", state);
    return location(w, p, &pl, false);
}

static void
valuetype(struct writer *w, unsigned number, const char *type, const char *unit)
{
    struct buffer b = { 0 };

    field(&b, 1, string(w, type));
    field(&b, 2, string(w, unit));
    nested(&w->out, number, &b);
}

static void
addsample(struct writer *w, const struct profile *p, const struct sample *s)
{
    struct buffer ids = { 0 }, values = { 0 }, b = { 0 };

    if (s->state != NULL)
        varint(&ids, stateloc(w, p, s->state));
    for (int i = 0; i < s->stack->n; i++) {
        bool exact = (s->stack->exact[i / 64] >> i % 64 & 1) != 0;

        varint(&ids, location(w, p, stack_place(s->stack, i), !exact));
    }
    varint(&values, (uint64_t)s->weight);
    varint(&values, (uint64_t)s->ns);
    nested(&b, 1, &ids);
    nested(&b, 2, &values);
    nested(&w->out, 2, &b);
}

static void
addmapping(struct writer *w, const struct module *m, uint64_t id)
{
    struct buffer b = { 0 };

    field(&b, 1, id);
    field(&b, 2, m->start);
    field(&b, 3, m->end);
    field(&b, 5, string(w, m->path));
    field(&b, 7, 1);            /* has_functions, has_filenames, has_line_numbers: nothing is left to look up */
    field(&b, 8, 1);
    field(&b, 9, 1);
    nested(&w->out, 3, &b);
}

static void
encode(struct writer *w, const struct profile *p)
{
    bytes(&w->text, 6, "", 0);  /* string 0 */
    valuetype(w, 1, p->cpu ? "samples" : "goroutines", "count");
    valuetype(w, 1, p->cpu ? "cpu" : "wait", "nanoseconds");
    for (size_t i = 0; i < p->t->nmodules; i++)
        addmapping(w, &p->t->modules[i], i + 1);
    for (size_t i = 0; i < p->n; i++)
        addsample(w, p, &p->samples[i]);
    field(&w->out, 9, (uint64_t)p->begin);
    field(&w->out, 10, (uint64_t)p->duration);
    if (p->cpu) {
        valuetype(w, 11, "cpu", "nanoseconds");
        field(&w->out, 12, (uint64_t)p->period);
    }
    field(&w->out, 14, string(w, p->cpu ? "cpu" : "goroutines"));
    put(&w->out, w->text.data, w->text.n);
}

bool
pprof_write(const char *file, const struct profile *p)
{
    struct writer w = { 0 };
    gzFile f = gzopen(file, "wbe");
    bool ok;

    if (f == NULL) {
        complain("%s: %s", file, strerror(errno != 0 ? errno : ENOMEM));
        return false;
    }
    encode(&w, p);
    ok = gzwrite(f, w.out.data, (unsigned)w.out.n) == (int)w.out.n;
    ok = gzclose(f) == Z_OK && ok;
    if (!ok)
        complain("%s: %s", file, strerror(errno != 0 ? errno : EIO));
    free(w.out.data);
    free(w.text.data);
    table_free(&w.strings);
    table_free(&w.functions);
    table_free(&w.locations);
    return ok;
}

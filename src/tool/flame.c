/*
 * A profile as a flame graph: callers below, what they call above, as wide as
 * their weight.  Plain SVG with a title on each box, no script: a browser shows
 * the titles, and any viewer the picture.
 */
#include "inspect.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1200, HEIGHT = 17, MARGIN = 10, TOP = 40, CHAR = 7 };

struct node {
    char *name;
    int64_t weight;
    struct node *child, *next;
};

static struct node *
childof(struct node *n, const char *name)
{
    struct node **p = &n->child, *new;

    while (*p != NULL && strcmp((*p)->name, name) < 0)
        p = &(*p)->next;
    if (*p != NULL && strcmp((*p)->name, name) == 0)
        return *p;
    new = xrealloc(NULL, 1, sizeof *new);
    *new = (struct node){ .name = xstrdup(name), .next = *p };
    *p = new;
    return new;
}

static void
add(struct node *root, const struct sample *s)
{
    char buf[PATH_MAX];
    struct node *n = root;

    root->weight += s->weight;
    for (int i = s->stack->n - 1; i >= 0; i--) {
        n = childof(n, framename(stack_place(s->stack, i), buf, sizeof buf));
        n->weight += s->weight;
    }
    if (s->state != NULL) {
        snprintf(buf, sizeof buf, "[%s]", s->state);
        childof(n, buf)->weight += s->weight;
    }
}

static void
release(struct node *n)
{
    while (n != NULL) {
        struct node *next = n->next;

        release(n->child);
        free(n->name);
        free(n);
        n = next;
    }
}

static int
depth(const struct node *n)
{
    int most = 0;

    for (n = n->child; n != NULL; n = n->next) {
        int d = 1 + depth(n);

        if (d > most)
            most = d;
    }
    return most;
}

static void
escaped(FILE *f, const char *s, size_t n)
{
    for (; *s != '\0' && n-- > 0; s++)
        switch (*s) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        default: putc(*s, f); break;
        }
}

/* Warm colours, by name, so that a function looks the same everywhere; states are blue. */
static void
colour(FILE *f, const char *name)
{
    unsigned h = 5381;

    for (const char *p = name; *p != '\0'; p++)
        h = h * 33 + (unsigned char)*p;
    if (*name == '[')
        fprintf(f, "rgb(%u,%u,%u)", 120 + h % 40, 170 + h / 7 % 40, 230u);
    else
        fprintf(f, "rgb(%u,%u,%u)", 225 + h % 30, 90 + h / 7 % 110, 40 + h / 31 % 40);
}

static void
box(FILE *f, const struct node *n, double x, double scale, int level, int levels, int64_t total)
{
    double width = (double)n->weight * scale, at = x;
    int y = TOP + (levels - level) * HEIGHT;
    size_t fits = width > 3 * CHAR ? (size_t)((width - 6) / CHAR) : 0;

    if (width < 0.2)
        return;
    fprintf(f, "<g><title>");
    escaped(f, n->name, SIZE_MAX);
    fprintf(f, ": %ld, %.1f%%</title>", n->weight, 100.0 * (double)n->weight / (double)total);
    fprintf(f, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"", x, y, width, HEIGHT - 1);
    colour(f, n->name);
    fprintf(f, "\"/>");
    if (fits > 0) {
        fprintf(f, "<text x=\"%.1f\" y=\"%d\">", x + 3, y + 12);
        escaped(f, n->name, fits);
        fprintf(f, "</text>");
    }
    fprintf(f, "</g>\n");
    for (const struct node *c = n->child; c != NULL; c = c->next) {
        box(f, c, at, scale, level + 1, levels, total);
        at += (double)c->weight * scale;
    }
}

void
flame_write(FILE *f, const struct profile *p)
{
    struct node root = { .name = (char *)"all" };
    int levels, height;

    for (size_t i = 0; i < p->n; i++)
        add(&root, &p->samples[i]);
    levels = depth(&root);
    height = TOP + (levels + 1) * HEIGHT + MARGIN;
    fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
               "font-family=\"monospace\" font-size=\"11\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf8\"/>\n"
               "<text x=\"%d\" y=\"24\" font-size=\"15\">", WIDTH, height, WIDTH, height, MARGIN);
    escaped(f, p->t->what, SIZE_MAX);
    fprintf(f, p->cpu ? ": CPU, %ld samples" : ": %ld Gs by where they are", root.weight);
    fprintf(f, "</text>\n");
    if (root.weight > 0)
        box(f, &root, MARGIN, (double)(WIDTH - 2 * MARGIN) / (double)root.weight, 0, levels, root.weight);
    fprintf(f, "</svg>\n");
    release(root.child);
}

/*
 * Gs in the same state with the same stack, counted: what stacks prints and
 * profile weighs.
 */
#include "inspect.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

struct group *
group_of(struct groups *gr, const struct stack *st, const char *state, bool fresh)
{
    uint64_t hash = stack_hash(st, (uintptr_t)state);
    struct group *g;
    uint64_t *v;

    for (;; hash++) {
        v = table_at(&gr->byhash, hash);
        if (*v == 0)
            break;
        g = &gr->list[*v - 1];
        if (!fresh && g->state == state && stack_equal(&g->stack, st))
            return g;
    }
    *v = gr->n + 1;
    if (gr->n == gr->room) {
        gr->room = gr->room != 0 ? 2 * gr->room : 64;
        gr->list = xrealloc(gr->list, gr->room, sizeof *gr->list);
    }
    g = &gr->list[gr->n++];
    *g = (struct group){ .stack = *st, .state = state, .least = INT64_MAX };
    return g;
}

void
group_add(struct group *g, size_t i, int64_t wait)
{
    if (g->n == g->room) {
        g->room = g->room != 0 ? 2 * g->room : 4;
        g->members = xrealloc(g->members, g->room, sizeof *g->members);
    }
    g->members[g->n++] = i;
    g->waited += wait;
    if (wait < g->least)
        g->least = wait;
    if (wait > g->most)
        g->most = wait;
}

static bool
wanted(const struct gsnap *gp, int64_t goid)
{
    return gp->status != GOSSAMER_IDLE && gp->status != GOSSAMER_DEAD && (goid == 0 || gp->goid == goid);
}

/* A program in full swing runs on while we look: a G that cannot be caught has an empty stack. */
bool
groups_collect(struct target *t, struct snap *s, const struct collect *how, struct groups *gr)
{
    for (size_t i = 0; i < s->ngs; i++) {
        struct gsnap *gp = &s->gs[i];
        struct stack st = { 0 };
        struct group *g;
        bool caught;

        if (!wanted(gp, how->goid))
            continue;
        caught = capture(t, gp, &st);
        if (!caught) {
            if (!target_alive(t))
                return target_lost(t);
            if (!wanted(gp, how->goid))
                continue;       /* it has ended */
            st = (struct stack){ .n = 0 };
        }
        if (!how->raw)
            stack_trim(t, &st);
        g = group_of(gr, &st, statename(t, gp), how->each || !caught);
        g->missed = !caught;
        snprintf(g->why, sizeof g->why, "%s", caught ? "" : capture_why());
        group_add(g, i, waitedfor(gp));
    }
    return true;
}

static int
bysize(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return x->members[0] > y->members[0] ? 1 : x->members[0] < y->members[0] ? -1 : 0;
}

void
groups_sort(struct groups *gr)
{
    if (gr->n > 1)
        qsort(gr->list, gr->n, sizeof *gr->list, bysize);
    table_free(&gr->byhash);    /* its indices are wrong now */
}

void
groups_free(struct groups *gr)
{
    for (size_t i = 0; i < gr->n; i++)
        free(gr->list[i].members);
    free(gr->list);
    table_free(&gr->byhash);
    *gr = (struct groups){ 0 };
}

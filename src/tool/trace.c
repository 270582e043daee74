/*
 * Stacks in words, and which of their frames are worth showing: the program's.
 */
#include "inspect.h"

#include <string.h>

static bool
isexact(const struct stack *st, int i)
{
    return (st->exact[i / 64] >> i % 64 & 1) != 0;
}

const struct place *
stack_place(const struct stack *st, int i)
{
    return symbol_at(st->pc[i], !isexact(st, i));
}

static bool
ours(struct target *t, const struct stack *st, int i)
{
    struct module *m = target_module(t, st->pc[i] - !isexact(st, i));

    return m != NULL && m == target_library(t);
}

/* How many frames there are without those that called main. */
static int
withoutstart(const struct stack *st)
{
    for (int i = st->n > 4 ? st->n - 4 : 1; i < st->n; i++)
        if (strncmp(stack_place(st, i)->function, "__libc_start_", 13) == 0)
            return i;
    return st->n;
}

void
stack_trim(struct target *t, struct stack *st)
{
    struct stack whole = *st;
    int lo = 0, hi = withoutstart(st);

    while (hi > 0 && ours(t, st, hi - 1))
        hi--;
    while (lo + 1 < hi && ours(t, st, lo) && ours(t, st, lo + 1))
        lo++;
    /* stripped, and not a function that the program could call: a hook's tail call */
    if (lo + 1 < hi && ours(t, st, lo) && !stack_place(st, lo)->known)
        lo++;
    *st = (struct stack){ .cut = whole.cut, .full = whole.full };
    for (int i = lo; i < hi; i++) {
        st->pc[st->n] = whole.pc[i];
        st->exact[st->n / 64] |= (uint64_t)isexact(&whole, i) << st->n % 64;
        st->n++;
    }
}

uint64_t
stack_hash(const struct stack *st, uint64_t seed)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;

    for (int i = 0; i < st->n; i++)
        h = (h ^ st->pc[i]) * 0x9e3779b97f4a7c15u ^ h >> 29;
    return h;
}

bool
stack_equal(const struct stack *a, const struct stack *b)
{
    return a->n == b->n && memcmp(a->pc, b->pc, (size_t)a->n * sizeof a->pc[0]) == 0 &&
           memcmp(a->exact, b->exact, sizeof a->exact) == 0;
}

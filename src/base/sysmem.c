/* Memory for the runtime, and slots (stack and thread block) for Gs.
 *
 * Slots of one class come from slabs: one MAP_NORESERVE mapping cut into slots, so that 100,000 stacks
 * cost a few mappings. Sizes are rounded up to a few classes, which costs address space only. The
 * lowest pages of a slot are its guard: MADV_GUARD_INSTALL (Linux 6.13) makes it without a mapping of
 * its own; elsewhere mprotect splits the mapping, and vm.max_map_count bounds the number of stacks as
 * it does natively.
 *
 * A slot is never given back to the kernel, only its pages: the thread block at its top stays valid
 * for ever, so that a stale pthread_t points to a dead G and not into nowhere, and libc's malloc
 * cache in it stays warm. Free slots are kept, with their Gs, by sched/gfree.c.
 */
#include "base.h"
#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SLABBYTES = 64 << 20, SLABMAX = 1024 };

struct class {
    size_t size;                /* of a slot; 0: unused class */
    size_t guard;
    char *next, *end;           /* the part of the newest slab that was never handed out */
    size_t slab;                /* slots in the next slab */
};

static struct lock slotlock;
static struct class classes[MAXCLASSES];
size_t pagesize = 4096;
bool guardregions = true;

static void *
sys_mmap(size_t size, int prot, int flags)
{
    long p = sys6(SYS_mmap, 0, A(size), prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return p < 0 && p > -4096 ? NULL : (void *)p;
}

void *
sysalloc(size_t size)
{
    return sys_mmap((size + pagesize - 1) & -pagesize, PROT_READ | PROT_WRITE, 0);
}

/* The next size of the form 2^k or 3 * 2^k pages. */
static size_t
roundsize(size_t size)
{
    size_t pow2 = pagesize;

    while (pow2 < size)
        pow2 *= 2;
    return pow2 > 2 * pagesize && pow2 / 4 * 3 >= size ? pow2 / 4 * 3 : pow2;
}

int
slotclass(size_t size, size_t guard, size_t extra)
{
    struct g *me;
    int i;

    if (size > (size_t)1 << 44 || guard > (size_t)1 << 44)
        return -EAGAIN;
    extra = (extra + pagesize - 1) & -pagesize;
    guard = guard ? roundsize(guard) : 0;
    size = guard + (size ? roundsize(size) : 0) + extra;
    me = pin();
    lock(&slotlock);
    for (i = 0; i < MAXCLASSES; i++) {
        if (classes[i].size == 0)
            classes[i] = (struct class){ .size = size, .guard = guard, .slab = 4 };
        if (classes[i].size == size && classes[i].guard == guard)
            break;
    }
    unlock(&slotlock);
    unpin(me);
    return i < MAXCLASSES ? i : -EAGAIN;
}

/* slotlock held. A slot from a slab, a new slab if need be; NULL when the kernel has no room. */
static char *
newslot(struct class *c)
{
    char *slot;

    if (c->next == c->end) {
        size_t n = c->slab;

        while ((slot = sys_mmap(n * c->size, PROT_READ | PROT_WRITE, MAP_NORESERVE | MAP_STACK)) == NULL) {
            if (n == 1)
                return NULL;
            n /= 2;
        }
        sys3(SYS_madvise, A(slot), A(n * c->size), MADV_NOHUGEPAGE);
        c->next = slot;
        c->end = slot + n * c->size;
        if (c->slab < SLABMAX || c->slab * c->size < SLABBYTES)
            c->slab *= 2;
    }
    slot = c->next;
    c->next += c->size;
    return slot;
}

static int
makeguard(char *base, size_t guard)
{
    if (guard == 0)
        return 0;
    if (guardregions) {
        if (sys3(SYS_madvise, A(base), A(guard), MADV_GUARD_INSTALL) == 0)
            return 0;
        guardregions = false;
    }
    return sys3(SYS_mprotect, A(base), A(guard), PROT_NONE) < 0 ? -EAGAIN : 0;
}

int
slotalloc(struct slot *s, int class)
{
    struct class *c = &classes[class];
    size_t top = 2 * pagesize;
    struct g *me = pin();
    char *slot;

    lock(&slotlock);
    slot = newslot(c);
    unlock(&slotlock);
    unpin(me);
    if (slot == NULL)
        return -EAGAIN;
    *s = (struct slot){ slot, c->size, c->guard, class };
    if (makeguard(slot, c->guard) < 0) {
        sys3(SYS_munmap, A(slot), A(c->size), 0);
        return -EAGAIN;
    }
    /* The thread block and the first frames are touched at once anyway: fault them in together. Where
     * this fails for want of memory, the page fault will say so as it does natively. */
    if (top > c->size - c->guard)
        top = c->size - c->guard;
    sys3(SYS_madvise, A(slot + c->size - top), A(top), MADV_POPULATE_WRITE);
    return 0;
}

void
slottrim(struct slot *s, size_t keep)
{
    size_t used = s->size - s->guard;

    if (used > keep)
        sys3(SYS_madvise, A(s->base + s->guard), A(used - keep), MADV_DONTNEED);
}

void
slotreset(void)
{
    if (load_rlx(&slotlock.key) != 0)           /* a thread of the parent was changing them */
        for (int i = 0; i < MAXCLASSES; i++)
            classes[i].next = classes[i].end = NULL;
    store_rlx(&slotlock.key, 0);
}

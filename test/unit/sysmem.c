/* Pages and slots: classes, guards, trimming, slabs. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static struct slot
newslot(size_t size, size_t guard, size_t extra)
{
    int class = slotclass(size, guard, extra);
    struct slot s;

    cr_assert_geq(class, 0);
    cr_assert_eq(slotalloc(&s, class), 0);
    cr_assert_eq(s.class, class);
    return s;
}

static size_t
sizefor(size_t size)
{
    return newslot(size, 0, 0).size;
}

Test(sysmem, sysalloc)
{
    char *p = sysalloc(10000);

    cr_assert_not_null(p);
    cr_expect_eq((uintptr_t)p % PAGE, 0);
    for (int i = 0; i < 3 * PAGE; i++)
        cr_assert_eq(p[i], 0);
    p[3 * PAGE - 1] = 1;
    cr_expect_null(sysalloc((size_t)1 << 60));
}

Test(sysmem, class_rounding)
{
    static const size_t pages[][2] = {
        { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 6 }, { 6, 6 }, { 7, 8 }, { 9, 12 },
        { 13, 16 }, { 16, 16 }, { 17, 24 }, { 25, 32 }, { 2047, 2048 }, { 2048, 2048 }, { 2049, 3072 },
    };

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        cr_expect_eq(sizefor(pages[i][0] * PAGE), pages[i][1] * PAGE, "%zu pages", pages[i][0]);
    cr_expect_eq(sizefor(1), PAGE);
    cr_expect_eq(sizefor(4 * PAGE + 1), 6 * PAGE);
}

Test(sysmem, class_identity)
{
    int c = slotclass(64 << 10, PAGE, 3000);

    cr_expect_eq(slotclass(64 << 10, PAGE, 3000), c);
    cr_expect_eq(slotclass((64 << 10) - 100, 1, 4000), c, "rounds to the same");
    cr_expect_neq(slotclass(64 << 10, 2 * PAGE, 3000), c);
    cr_expect_neq(slotclass(64 << 10, 0, 3000), c);
    cr_expect_neq(slotclass(65 << 10, PAGE, 3000), c);
}

Test(sysmem, class_parts)
{
    struct slot s = newslot(64 << 10, PAGE, 3000), only = newslot(0, 0, 5000);

    cr_expect_eq(s.size, (64u << 10) + PAGE + PAGE);
    cr_expect_eq(s.guard, PAGE);
    cr_expect_eq((uintptr_t)s.base % PAGE, 0);
    cr_expect_eq(only.size, 2 * PAGE);
    cr_expect_eq(only.guard, 0);
    memset(only.base, 1, only.size);
}

Test(sysmem, class_limits)
{
    int n = 0, bad = 0;

    cr_expect_eq(slotclass(SIZE_MAX, 0, 0), -EAGAIN);
    cr_expect_eq(slotclass(PAGE, SIZE_MAX - 100, 0), -EAGAIN);
    cr_expect_eq(slotclass(((size_t)1 << 44) + 1, 0, 0), -EAGAIN);
    for (size_t extra = 0; n < MAXCLASSES; n++, extra += PAGE)
        bad += slotclass(PAGE, 0, extra) != n;
    cr_expect_eq(bad, 0);
    cr_expect_eq(slotclass(1 << 20, 0, 0), -EAGAIN, "too many classes");
    cr_expect_eq(slotclass(PAGE, 0, 5 * PAGE), 5, "the old ones still work");
}

Test(sysmem, no_room)
{
    int class = slotclass((size_t)1 << 43, PAGE, 0);
    struct slot s;
    int n = 0;

    cr_assert_geq(class, 0);
    while (n < 100 && slotalloc(&s, class) == 0)        /* 47 bits of address space */
        n++;
    cr_expect_lt(n, 16);
    cr_expect_eq(slotalloc(&s, class), -EAGAIN);
    cr_expect_eq(slotalloc(&s, slotclass(64 << 10, PAGE, 0)), 0, "smaller ones still fit");
}

Test(sysmem, usable_above_the_guard)
{
    struct slot s = newslot(64 << 10, 3 * PAGE, 3000);

    cr_expect_eq(s.guard, 3 * PAGE);
    for (size_t i = s.guard; i < s.size; i++)
        cr_assert_eq(s.base[i], 0);
    memset(s.base + s.guard, 0xaa, s.size - s.guard);
}

static void
poke(size_t at)
{
    struct slot a = newslot(64 << 10, 2 * PAGE, 3000), b = newslot(64 << 10, 2 * PAGE, 3000);

    memset(a.base + a.guard, 1, a.size - a.guard);
    memset(b.base + b.guard, 1, b.size - b.guard);
    *(volatile char *)(b.base + at) = 1;
}

Test(sysmem, guard_top, .signal = SIGSEGV)
{
    poke(2 * PAGE - 1);
}

Test(sysmem, guard_bottom, .signal = SIGSEGV)
{
    poke(0);
}

Test(sysmem, guard_by_mprotect, .signal = SIGSEGV)
{
    guardregions = false;
    poke(2 * PAGE - 1);
}

Test(sysmem, guard_survives_trim, .signal = SIGSEGV)
{
    struct slot s = newslot(64 << 10, PAGE, 0);

    slottrim(&s, PAGE);
    s.base[PAGE] = 1;
    *(volatile char *)(s.base + PAGE - 1) = 1;
}

static int
resident(char *p, size_t n)
{
    unsigned char in[64];
    int count = 0;

    cr_assert_leq(n, 64);
    cr_assert_eq(mincore(p, n * PAGE, in), 0);
    for (size_t i = 0; i < n; i++)
        count += in[i] & 1;
    return count;
}

Test(sysmem, trim)
{
    struct slot s = newslot(32 * PAGE, PAGE, 0);
    char *top = s.base + s.size - 2 * PAGE;

    memset(s.base + s.guard, 0x55, s.size - s.guard);
    cr_expect_eq(resident(s.base + s.guard, 32), 32);
    slottrim(&s, 2 * PAGE);
    cr_expect_eq(resident(s.base + s.guard, 30), 0);
    cr_expect_eq(resident(top, 2), 2);
    for (int i = 0; i < 2 * PAGE; i++)
        cr_assert_eq(top[i], 0x55);
    cr_expect_eq(s.base[s.guard], 0);
    slottrim(&s, s.size);       /* nothing to drop */
    cr_expect_eq(top[0], 0x55);
}

/* A new slot costs its top pages only. */
Test(sysmem, fresh_slot_is_small)
{
    struct slot s = newslot(32 * PAGE, PAGE, 0);

    cr_expect_leq(resident(s.base + s.guard, 32), 2);
}

static int
mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    int c, n = 0;

    while ((c = fgetc(f)) != EOF)
        n += c == '\n';
    fclose(f);
    return n;
}

static int
ascending(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;

    return x->base < y->base ? -1 : x->base > y->base;
}

Test(sysmem, slabs_grow)
{
    enum { N = 20000 };
    struct slot *s = malloc(N * sizeof *s);
    int class = slotclass(64 << 10, PAGE, 0), before, overlaps = 0;

    cr_assert_eq(slotalloc(&s[0], class), 0);
    before = mappings();
    for (int i = 1; i < N; i++)
        cr_assert_eq(slotalloc(&s[i], class), 0);
    if (guardregions)
        cr_expect_leq(mappings() - before, 30, "%d more mappings", mappings() - before);
    qsort(s, N, sizeof *s, ascending);
    for (int i = 1; i < N; i++)
        overlaps += s[i - 1].base + s[i - 1].size > s[i].base;
    cr_expect_eq(overlaps, 0);
}

static void *
allocate(void *arg)
{
    struct slot *s = arg;

    for (int i = 0; i < 2000; i++)
        if (slotalloc(&s[i], slotclass(16 << 10, PAGE, 0)) < 0)
            return arg;
    return NULL;
}

Test(sysmem, concurrent)
{
    struct slot *s = malloc(4 * 2000 * sizeof *s);
    pthread_t th[4];
    int overlaps = 0;

    for (int i = 0; i < 4; i++)
        th[i] = spawn(allocate, s + 2000 * i);
    for (int i = 0; i < 4; i++)
        cr_expect_null(reap(th[i]));
    qsort(s, 8000, sizeof *s, ascending);
    for (int i = 1; i < 8000; i++)
        overlaps += s[i - 1].base + s[i - 1].size > s[i].base;
    cr_expect_eq(overlaps, 0);
}

/* Thread blocks: made from a template as boot.c does it, and switched to from the test's own thread. */
#define _GNU_SOURCE 1
#include "unit.h"
#include "tlsmod.h"

#include <ctype.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>

enum { STACK = 256 << 10, TID = 5000000 };

static __thread int mine = 77;

static char *templatestack;

static void *
templatethread(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)tlstemplate(templatestack, STACK);
}

static void
setup(void)
{
    pthread_attr_t attr;
    pthread_t th;
    const char *fault = tlsinit();

    cr_assert_null(fault, "no %s", fault);
    templatestack = sysalloc(STACK);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, templatestack, STACK);
    cr_assert_eq(pthread_create(&th, &attr, templatethread, NULL), 0);
    fault = reap(th);
    cr_assert_null(fault, "no %s", fault);
    rsequnregister();
}

TestSuite(tls, .init = setup, .timeout = 20);

/* A coroutine on a block, whose caller waits in `back`. */
static struct co {
    struct g *gp;
    void (*fn)(void);
    void *back;
    char *backtp;
    int done;
} co;

static void
body(void *arg)
{
    struct co *c = arg;

    tlsstart();
    c->fn();
    c->done = 1;
    context_switch(&c->gp->sp, c->back, c->backtp);
}

/* Runs fn on gp's block until it returns or yields. */
static void
go(struct g *gp, void (*fn)(void))
{
    co = (struct co){ .gp = gp, .fn = fn, .backtp = thread_pointer() };
    gp->sp = context_make(gp->stkhi, body, &co, fp_control());
    context_switch(&co.back, gp->sp, gp->tp);
}

static void
yield(void)
{
    context_switch(&co.gp->sp, co.back, co.backtp);
}

static void
resume(void)
{
    context_switch(&co.back, co.gp->sp, co.gp->tp);
}

static struct g *
block(int tid)
{
    int class = slotclass(STACK, pagesize, tlsextra());
    struct slot slot;
    struct g *gp;

    cr_assert_geq(class, 0);
    cr_assert_eq(slotalloc(&slot, class), 0);
    gp = tlsnew(&slot, tid);
    cr_assert_not_null(gp);
    return gp;
}

static struct {
    int err, mine, tid, set, zero;
    long aligned;
    uintptr_t alignment;
    pthread_t self;
    struct g *g;
    int upper, ok;
    void *p;
} saw;

static void
look(void)
{
    saw.err = errno;
    saw.mine = mine;
    saw.tid = curtid;
    saw.self = pthread_self();
    saw.g = curg;
    saw.upper = toupper('a');
    saw.set = *tlsmod_get();
    saw.aligned = tlsmod_aligned;
    saw.alignment = (uintptr_t)&tlsmod_aligned % 64;
    saw.zero = 0;
    for (size_t i = 0; i < sizeof tlsmod_zero; i++)
        saw.zero |= tlsmod_zero[i];
}

Test(tls, layout)
{
    struct g *gp = block(TID);

    cr_expect_eq((uintptr_t)gp % 64, 0);
    cr_expect_eq((uintptr_t)gp->tp % 64, 0);
    cr_expect_eq((uintptr_t)gp->stkhi % 16, 0);
    cr_expect(gp->tp < (char *)gp && (char *)(gp + 1) <= gp->slot.base + gp->slot.size);
    cr_expect_eq(gp->stklo, gp->slot.base + gp->slot.guard);
    cr_expect_geq(gp->stkhi - gp->stklo, STACK, "the stack has its full size");
    cr_expect_lt(gp->stkhi, gp->tp);
    cr_expect_eq(gof((pthread_t)gp->tp), gp);
    cr_expect_null(gof(pthread_self()), "the test's own thread is no G");
    cr_expect(tlscancelable(gp));
}

Test(tls, own_variables)
{
    struct g *gp = block(TID);

    errno = EBADF;
    mine = 5;
    *tlsmod_get() = 6;
    go(gp, look);
    cr_expect_eq(co.done, 1);
    cr_expect_eq(saw.err, 0);
    cr_expect_eq(saw.mine, 77);
    cr_expect_eq(saw.set, 1234);
    cr_expect_eq(saw.zero, 0);
    cr_expect_eq(saw.aligned, -1);
    cr_expect_eq(saw.alignment, 0);
    cr_expect_eq(saw.tid, TID);
    cr_expect_eq(saw.self, (pthread_t)gp->tp);
    cr_expect_eq(saw.g, gp);
    cr_expect_eq(saw.upper, 'A');
    cr_expect_eq(errno, EBADF, "ours are untouched");
    cr_expect_eq(mine, 5);
    cr_expect_eq(*tlsmod_get(), 6);
    cr_expect_null(curg);
}

static void
seterrno(void)
{
    errno = ENOSPC;
    mine++;
    yield();
    saw.err = errno;
    saw.mine = mine;
}

Test(tls, kept_over_a_switch)
{
    go(block(TID), seterrno);
    cr_expect_eq(co.done, 0);
    errno = EPIPE;
    resume();
    cr_expect_eq(co.done, 1);
    cr_expect_eq(saw.err, ENOSPC);
    cr_expect_eq(saw.mine, 78);
    cr_expect_eq(errno, EPIPE);
}

static void
uselibc(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    char buf[100], *p[100];

    for (size_t i = 0; i < 100; i++)
        memset(p[i] = malloc(100 + i * 50), 1, 100 + i * 50);
    for (size_t i = 0; i < 100; i++)
        free(p[i]);
    snprintf(buf, sizeof buf, "%.3f %s", 1.5, strerror(EBADF));
    saw.ok = strcmp(buf, "1.500 Bad file descriptor") == 0;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    saw.ok += pthread_mutex_lock(&r) == 0 && pthread_mutex_lock(&r) == 0 && r.__data.__owner == TID;
    saw.ok += pthread_equal(pthread_self(), saw.self) == 0;
}

Test(tls, libc_works)
{
    go(block(TID), uselibc);
    cr_expect_eq(saw.ok, 3);
}

static void
dirty(void)
{
    errno = ENOSPC;
    *tlsmod_get() = 99;
    memset(tlsmod_zero, 1, sizeof tlsmod_zero);
    tlsmod_aligned = 3;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    saw.p = malloc(64);
}

static void
lookagain(void)
{
    int state, type;

    look();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    saw.ok = state == PTHREAD_CANCEL_ENABLE && type == PTHREAD_CANCEL_DEFERRED;
    saw.ok += uselocale((locale_t)0) == LC_GLOBAL_LOCALE;
    free(saw.p);
}

Test(tls, recycled_block_is_fresh)
{
    struct g *gp = block(TID);

    go(gp, dirty);
    cr_expect(!tlscancelable(gp));
    tlsrenew(gp, TID + 1);
    cr_expect(tlscancelable(gp));
    go(gp, lookagain);
    cr_expect_eq(co.done, 1);
    cr_expect_eq(saw.err, 0);
    cr_expect_eq(saw.set, 1234);
    cr_expect_eq(saw.zero, 0);
    cr_expect_eq(saw.aligned, -1);
    cr_expect_eq(saw.tid, TID + 1);
    cr_expect_eq(gp->tid, TID + 1);
    cr_expect_eq(saw.self, (pthread_t)gp->tp);
    cr_expect_eq(saw.g, gp);
    cr_expect_eq(saw.ok, 2);
}

static pthread_key_t keys[40];
static int destroyed, again;

static void
destroy(void *value)
{
    destroyed++;
    if (value == &again) {
        /* the third round of this one leaves it empty */
        if (++again < 3)
            pthread_setspecific(keys[0], &again);
    }
    saw.g = curg;
}

static void
setkeys(void)
{
    pthread_setspecific(keys[0], &again);
    for (int i = 1; i < 39; i++)        /* those of the second level too */
        pthread_setspecific(keys[i], &keys[i]);
    pthread_key_delete(keys[1]);
    curg->specused = true;
    tlsexit(curg);
    saw.ok = 1;
    for (int i = 0; i < 39; i++)
        saw.ok &= i == 1 || pthread_getspecific(keys[i]) == NULL;
    tlsexit(curg);              /* nothing left to do */
}

Test(tls, key_destructors)
{
    struct g *gp = block(TID);

    for (int i = 0; i < 40; i++)
        cr_assert_eq(pthread_key_create(&keys[i], i == 2 ? NULL : destroy), 0);
    pthread_setspecific(keys[39], &keys[39]);   /* of another thread: stays */
    go(gp, setkeys);
    cr_expect_eq(co.done, 1);
    cr_expect_eq(again, 3);
    cr_expect_eq(destroyed, 36 + 3, "%d destructors ran", destroyed);
    cr_expect_eq(saw.ok, 1);
    cr_expect_eq(saw.g, gp, "on the G itself");
    cr_expect(!gp->specused);
    cr_expect_eq(pthread_getspecific(keys[39]), &keys[39]);
}

static void
forever(void *value)
{
    destroyed++;
    pthread_setspecific(keys[0], value);
}

static void
setforever(void)
{
    pthread_setspecific(keys[0], &again);
    curg->specused = true;
    tlsexit(curg);
}

Test(tls, destructors_end)
{
    pthread_key_create(&keys[0], forever);
    go(block(TID), setforever);
    cr_expect_eq(destroyed, PTHREAD_DESTRUCTOR_ITERATIONS);
}

/* Many blocks alive at once, each with its own values. */
Test(tls, many)
{
    enum { N = 200 };
    struct g *gs[N];
    int bad = 0;

    for (int i = 0; i < N; i++)
        gs[i] = block(TID + i);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < N; i++) {
            go(gs[i], look);
            bad += saw.tid != TID + i || saw.g != gs[i] || saw.mine != 77 || saw.set != 1234;
            tlsrenew(gs[i], TID + i);
        }
    cr_expect_eq(bad, 0);
}

static double third;

static void
divide(void)
{
    volatile double one = 1, three = 3;

    third = one / three;
}

/* The control words of floating point are the context's own. */
Test(tls, floating_point)
{
    struct g *gp = block(TID);
    uint32_t up = 0x1f80 | 2 << 13, old;
    double nearest;

    divide();
    nearest = third;
    __asm__ volatile("stmxcsr %0" : "=m"(old));
    __asm__ volatile("ldmxcsr %0" : : "m"(up));
    go(gp, divide);
    __asm__ volatile("ldmxcsr %0" : : "m"(old));
    cr_expect(third > nearest, "inherited from the creator");
    go(gp, divide);
    cr_expect(third == nearest);
}

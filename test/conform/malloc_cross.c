/*
 * malloc, realloc, calloc, aligned_alloc and free from six threads, half of the blocks freed in another
 * thread than the one that made them: contents hold.  POSIX malloc.
 */
#include "conform.h"

enum { N = 6, ROUNDS = 3000, SLOTS = 64 };

struct block {
    size_t size;
    unsigned char fill;
};

static struct block *slot[SLOTS];
static long bad, balance;

static void
discard(struct block *b)
{
    unsigned char *p = (unsigned char *)(b + 1);
    size_t i;

    for (i = 0; i < b->size; i++) {
        if (p[i] != b->fill) {
            __atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
            break;
        }
    }
    free(b);
    __atomic_fetch_sub(&balance, 1, __ATOMIC_RELAXED);
}

static struct block *
make(uint32_t x)
{
    size_t size = x % 97 == 0 ? 200000 : x % 1500;
    struct block *b;

    switch (x >> 16 & 3) {
    case 0:
        b = aligned_alloc(64, (sizeof *b + size + 63) & ~(size_t)63);
        CHECK(((uintptr_t)b & 63) == 0);
        break;
    case 1:
        b = calloc(1, sizeof *b + size);
        break;
    case 2:
        b = realloc(malloc(size / 3 + 1), sizeof *b + size);
        break;
    default:
        b = malloc(sizeof *b + size);
        break;
    }
    b->size = size;
    b->fill = (unsigned char)(x >> 8);
    memset(b + 1, b->fill, size);
    __atomic_fetch_add(&balance, 1, __ATOMIC_RELAXED);
    return b;
}

static void *
worker(void *arg)
{
    uint32_t x = (uint32_t)(intptr_t)arg * 7919 + 1;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        struct block *b;

        x = x * 1664525 + 1013904223;
        b = make(x >> 4);
        if (i % 2)
            b = __atomic_exchange_n(&slot[x >> 20 & (SLOTS - 1)], b, __ATOMIC_ACQ_REL);
        if (b)
            discard(b);
    }
    return NULL;
}

int
main(void)
{
    pthread_t t[N];
    int i, round;

    for (round = 0; round < 3; round++) {
        for (i = 0; i < N; i++)
            t[i] = spawn(worker, (void *)(intptr_t)(round * N + i));
        for (i = 0; i < N; i++)
            join(t[i]);
    }
    for (i = 0; i < SLOTS; i++) {
        if (slot[i])
            discard(slot[i]);
    }
    printf("bad %ld, balance %ld\n", bad, balance);
    return conform_status();
}

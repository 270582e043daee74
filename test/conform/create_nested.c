/*
 * Threads that create threads: a binary tree of depth 8 (511 threads), each joining its two
 * children and adding their values.  POSIX pthread_create.
 */
#include "conform.h"

static void *
node(void *arg)
{
    intptr_t depth = (intptr_t)arg;
    pthread_t l, r;

    if (depth == 0)
        return (void *)1;
    l = spawn(node, (void *)(depth - 1));
    r = spawn(node, (void *)(depth - 1));
    return (void *)((intptr_t)join(l) + (intptr_t)join(r) + 1);
}

int
main(void)
{
    printf("nodes %ld\n", (long)(intptr_t)join(spawn(node, (void *)8)));
    return conform_status();
}

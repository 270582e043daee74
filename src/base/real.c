/* Finds the next-in-line definitions. See real.h. */
#define _GNU_SOURCE 1
#include "base.h"
#include "elfsym.h"
#include "real.h"

struct real real;

struct entry {
    const char *name;
    size_t offset;
};

#define ENTRY(name) { #name, offsetof(struct real, name) },
#define ODD_ENTRY(name, ret, args) { #name, offsetof(struct real, name) },

static const struct entry entries[] = { REAL_LIST(ENTRY) REAL_ODD(ODD_ENTRY) };

/* For vfork's jump in assembly. */
__attribute__((visibility("hidden"))) void *realvfork;

void
realinit(void)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        *(void **)((char *)&real + entries[i].offset) = elfnext(entries[i].name);
    realvfork = (void *)real.vfork;
}

/* Finding a symbol of one loaded object by name, without the loader: we define dlsym ourselves, so it cannot
 * serve to find what comes after us, and it takes the loader's lock.
 *
 * Reads the hash table that the loader uses (DT_GNU_HASH; its format is that of binutils and of the
 * generic ELF ABI's appendix). The list of objects is the debugger's, _r_debug: objects loaded at start
 * never move in it.
 */
#define _GNU_SOURCE 1
#include "base.h"
#include "elfsym.h"
#include <sys/auxv.h>

struct symtab {
    const uint32_t *hash;
    const ElfW(Sym) *sym;
    const char *str;
    const ElfW(Half) *version;
};

/* The loader has made these addresses absolute, but for objects whose dynamic section is read-only. */
static const void *
absolute(const struct link_map *lm, uintptr_t p)
{
    return (const void *)(p < lm->l_addr ? p + lm->l_addr : p);
}

static bool
tables(const struct link_map *lm, struct symtab *t)
{
    *t = (struct symtab){ 0 };
    for (const ElfW(Dyn) *d = lm->l_ld; d != NULL && d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_GNU_HASH: t->hash = absolute(lm, d->d_un.d_ptr); break;
        case DT_SYMTAB: t->sym = absolute(lm, d->d_un.d_ptr); break;
        case DT_STRTAB: t->str = absolute(lm, d->d_un.d_ptr); break;
        case DT_VERSYM: t->version = absolute(lm, d->d_un.d_ptr); break;
        default: break;
        }
    return t->hash != NULL && t->sym != NULL && t->str != NULL;
}

/* No function of libc's: a sanitizer puts its own in place of strcmp, which sets itself up at its first use, with calls of
 * functions that we are about to look up. */
static bool
same(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (*a == '\0')
            return true;
    return false;
}

static uint32_t
gnuhash(const char *name)
{
    uint32_t h = 5381;

    for (; *name != '\0'; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* The default version of a defined function or object. */
static bool
matches(const struct symtab *t, uint32_t i, const char *name)
{
    enum { Hidden = 0x8000 };
    const ElfW(Sym) *s = &t->sym[i];

    return s->st_shndx != SHN_UNDEF && (t->version == NULL || (t->version[i] & Hidden) == 0) &&
           same(t->str + s->st_name, name);
}

void *
elfsym(const struct link_map *lm, const char *name)
{
    enum { Word = 8 * sizeof(ElfW(Addr)) };
    uint32_t h = gnuhash(name), i;
    struct symtab t;

    if (!tables(lm, &t))
        return NULL;

    uint32_t nbuckets = t.hash[0], first = t.hash[1], nbloom = t.hash[2], shift = t.hash[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(t.hash + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + nbloom), *chain = buckets + nbuckets;
    ElfW(Addr) mask = (ElfW(Addr))1 << h % Word | (ElfW(Addr))1 << (h >> shift) % Word;

    if (nbuckets == 0 || (bloom[h / Word % nbloom] & mask) != mask)
        return NULL;
    for (i = buckets[h % nbuckets]; i >= first; i++) {
        uint32_t c = chain[i - first];

        if ((c | 1) == (h | 1) && matches(&t, i, name))
            return (void *)(lm->l_addr + t.sym[i].st_value);
        if (c & 1)
            break;
    }
    return NULL;
}

/* Names that an object refers to and does not define stand before the hashed ones in its table. */
bool
elfrefers(const struct link_map *lm, const char *name)
{
    struct symtab t;

    if (!tables(lm, &t))
        return false;
    for (uint32_t i = 1; i < t.hash[1]; i++)
        if (t.sym[i].st_shndx == SHN_UNDEF && same(t.str + t.sym[i].st_name, name))
            return true;
    return false;
}

struct link_map *
elfself(void)
{
    static struct link_map *_Atomic self;
    struct link_map *lm = load_rlx(&self);

    if (lm == NULL) {
        for (lm = _r_debug.r_map; lm != NULL && lm->l_ld != _DYNAMIC;)
            lm = lm->l_next;
        store_rlx(&self, lm);
    }
    return lm;
}

void *
elfnext(const char *name)
{
    void *sym = NULL;

    for (const struct link_map *lm = elfself(); sym == NULL && lm != NULL && (lm = lm->l_next) != NULL;)
        if (lm->l_addr != getauxval(AT_SYSINFO_EHDR))   /* the vDSO is listed, but nobody links to it */
            sym = elfsym(lm, name);
    return sym;
}

/* libc, by a name that only it defines. */
const struct link_map *
elflibc(void)
{
    static const struct link_map *_Atomic libc;
    const struct link_map *lm = load_rlx(&libc);

    if (lm == NULL) {
        for (lm = _r_debug.r_map; lm != NULL && elfsym(lm, "__libc_start_main") == NULL;)
            lm = lm->l_next;
        store_rlx(&libc, lm);
    }
    return lm;
}

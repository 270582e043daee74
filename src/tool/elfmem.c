/*
 * ELF as it lies in the memory of a process: the file on disk may have been
 * replaced since it was loaded.  What is read may be anything; nothing is
 * trusted further than its own size.
 */
#include "inspect.h"
#include "tool.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAXPHDRS = 64, MAXSYMS = 1 << 20 };

struct image {
    const struct target *t;
    uint64_t bias;
    Elf64_Phdr ph[MAXPHDRS];
    int nph;
};

static bool
loadimage(const struct target *t, const struct module *m, struct image *im)
{
    uint64_t first = UINT64_MAX;
    Elf64_Ehdr eh;

    im->t = t;
    if (!target_read(t, m->start, &eh, sizeof eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
        eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > MAXPHDRS ||
        !target_read(t, m->start + eh.e_phoff, im->ph, eh.e_phnum * sizeof im->ph[0]))
        return false;
    im->nph = eh.e_phnum;
    for (int i = 0; i < im->nph; i++)
        if (im->ph[i].p_type == PT_LOAD && im->ph[i].p_vaddr < first)
            first = im->ph[i].p_vaddr;
    if (first == UINT64_MAX)
        return false;
    im->bias = m->start - (first & ~UINT64_C(4095));
    return true;
}

static const Elf64_Phdr *
segment(const struct image *im, uint32_t type)
{
    for (int i = 0; i < im->nph; i++)
        if (im->ph[i].p_type == type)
            return &im->ph[i];
    return NULL;
}

/* How many symbols there are: one more than the last of the last chain of the GNU hash table. */
static uint64_t
symbolcount(const struct image *im, uint64_t hash)
{
    uint32_t head[4], bucket, last = 0, entry;
    uint64_t buckets, chains;

    if (!target_read(im->t, hash, head, sizeof head) || head[0] > MAXSYMS || head[2] > MAXSYMS)
        return 0;
    buckets = hash + 16 + UINT64_C(8) * head[2];
    chains = buckets + UINT64_C(4) * head[0];
    for (uint32_t i = 0; i < head[0]; i++)
        if (target_read(im->t, buckets + UINT64_C(4) * i, &bucket, sizeof bucket) && bucket > last)
            last = bucket;
    if (last < head[1])
        return 0;
    for (; last < MAXSYMS; last++)
        if (!target_read(im->t, chains + UINT64_C(4) * (last - head[1]), &entry, sizeof entry) || (entry & 1))
            break;
    return last + 1;
}

uint64_t
elfmem_symbol(const struct target *t, const struct module *m, const char *name)
{
    uint64_t symtab = 0, strtab = 0, hash = 0, n;
    size_t len = strlen(name) + 1;
    const Elf64_Phdr *dyn;
    struct image im;
    char got[64];

    if (!loadimage(t, m, &im) || (dyn = segment(&im, PT_DYNAMIC)) == NULL || len > sizeof got)
        return 0;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dyn->p_memsz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;

        if (!target_read(t, im.bias + dyn->p_vaddr + at, &d, sizeof d) || d.d_tag == DT_NULL)
            break;
        /* ld.so has made them addresses; in the file they are offsets */
        if (d.d_un.d_ptr < im.bias)
            d.d_un.d_ptr += im.bias;
        switch (d.d_tag) {
        case DT_SYMTAB: symtab = d.d_un.d_ptr; break;
        case DT_STRTAB: strtab = d.d_un.d_ptr; break;
        case DT_GNU_HASH: hash = d.d_un.d_ptr; break;
        }
    }
    if (symtab == 0 || strtab == 0 || hash == 0)
        return 0;
    n = symbolcount(&im, hash);
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Sym sym;

        if (target_read(t, symtab + i * sizeof sym, &sym, sizeof sym) && sym.st_shndx != SHN_UNDEF &&
            target_read(t, strtab + sym.st_name, got, len) && memcmp(got, name, len) == 0)
            return im.bias + sym.st_value;
    }
    return 0;
}

/* The table that finds the unwind information of an address; only in the form that all linkers write. */
void
elfmem_ehframe(const struct target *t, struct module *m)
{
    struct { uint8_t version, ptrenc, countenc, tableenc; int32_t ptr; uint32_t count; } head;
    const Elf64_Phdr *ph;
    struct image im;

    m->tried = true;
    if (!loadimage(t, m, &im) || (ph = segment(&im, PT_GNU_EH_FRAME)) == NULL ||
        !target_read(t, im.bias + ph->p_vaddr, &head, sizeof head))
        return;
    if (head.version != 1 || head.countenc != 0x03 || head.tableenc != 0x3b)
        return;                 /* udata4; datarel sdata4 */
    m->hdr = im.bias + ph->p_vaddr;
    m->nfdes = head.count;
}

/* ---- is it the file that is on disk? ---- */

enum { MAXID = 64, HEAD = 4096 };

/* The linker has put a number into each program that tells it from others, in the first page of the file; the number of its bytes, 0: there is none. */
static size_t
buildid(const unsigned char *head, size_t n, unsigned char id[MAXID])
{
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    Elf64_Nhdr nh;

    if (n < sizeof eh)
        return 0;
    memcpy(&eh, head, sizeof eh);
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof ph || eh.e_phoff > n)
        return 0;
    for (size_t i = 0, at = eh.e_phoff; i < eh.e_phnum && n - at >= sizeof ph; i++, at += sizeof ph) {
        size_t note, end;

        memcpy(&ph, head + at, sizeof ph);
        if (ph.p_type != PT_NOTE || ph.p_offset > n || ph.p_filesz > n - ph.p_offset)
            continue;
        end = ph.p_offset + ph.p_filesz;
        for (note = ph.p_offset; end - note >= sizeof nh;) {
            size_t name, desc;

            memcpy(&nh, head + note, sizeof nh);
            name = note + sizeof nh;
            desc = name + ((nh.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
            note = desc + ((nh.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
            if (desc > end || note > end)
                break;
            if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && memcmp(head + name, "GNU", 4) == 0 &&
                nh.n_descsz <= MAXID) {
                memcpy(id, head + desc, nh.n_descsz);
                return nh.n_descsz;
            }
        }
    }
    return 0;
}

void
buildid_check(const struct target *t, const char *exe)
{
    const struct map *m = t->nmaps > 0 ? &t->maps[0] : NULL;
    unsigned char head[HEAD], was[MAXID], is[MAXID];
    size_t nwas, nis;
    ssize_t n;
    int fd;

    if (m == NULL || m->offset != 0)
        return;
    nwas = buildid(head, core_own(t->core, m->start, head, sizeof head), was);
    fd = open(m->path, O_RDONLY | O_CLOEXEC);
    if (nwas == 0 || fd < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    n = pread(fd, head, sizeof head, 0);
    close(fd);
    nis = n > 0 ? buildid(head, (size_t)n, is) : 0;
    if (nis != nwas || memcmp(was, is, nwas) != 0)
        complain("%s: is not the program that died (another build id): names and lines are wrong",
            exe != NULL ? exe : m->path);
}

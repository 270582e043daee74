/*
 * Is this ELF file one that ld.so can preload us into, and one whose threads
 * may become Gs?
 *
 * The file may be truncated or hostile: every structure is copied out of it
 * by get(), which checks bounds, and every string by text(), which finds its
 * end inside.  Nothing is trusted but its length.
 */
#include "tool.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct elf {
    const unsigned char *p;
    size_t size;
    Elf64_Ehdr eh;
};

static bool
get(const struct elf *e, uint64_t off, void *to, size_t n)
{
    if (off > e->size || n > e->size - off)
        return false;
    memcpy(to, e->p + off, n);
    return true;
}

/* The string at off, or "" if it does not end in the file. */
static const char *
text(const struct elf *e, uint64_t off)
{
    if (off >= e->size || memchr(e->p + off, '\0', e->size - off) == NULL)
        return "";
    return (const char *)e->p + off;
}

static bool
phdr(const struct elf *e, unsigned i, Elf64_Phdr *ph)
{
    return i < e->eh.e_phnum && e->eh.e_phentsize == sizeof *ph &&
        get(e, e->eh.e_phoff + i * sizeof *ph, ph, sizeof *ph);
}

static bool
shdr(const struct elf *e, unsigned i, Elf64_Shdr *sh)
{
    return i < e->eh.e_shnum && e->eh.e_shentsize == sizeof *sh &&
        get(e, e->eh.e_shoff + i * sizeof *sh, sh, sizeof *sh);
}

static bool
findphdr(const struct elf *e, uint32_t type, Elf64_Phdr *ph)
{
    for (unsigned i = 0; phdr(e, i, ph); i++)
        if (ph->p_type == type)
            return true;
    return false;
}

/* Where in the file is what will be mapped at vaddr? */
static uint64_t
offset(const struct elf *e, uint64_t vaddr)
{
    Elf64_Phdr ph;

    for (unsigned i = 0; phdr(e, i, &ph); i++)
        if (ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr &&
            vaddr - ph.p_vaddr < ph.p_filesz)
            return ph.p_offset + (vaddr - ph.p_vaddr);
    return UINT64_MAX;
}

static bool
isours(const struct elf *e)
{
    return e->eh.e_ident[EI_CLASS] == ELFCLASS64 &&
        e->eh.e_ident[EI_DATA] == ELFDATA2LSB &&
        e->eh.e_machine == EM_X86_64;
}

static bool
openelf(struct elf *e, const unsigned char *file, size_t size)
{
    e->p = file;
    e->size = size;
    return get(e, 0, &e->eh, sizeof e->eh) &&
        memcmp(e->eh.e_ident, ELFMAG, SELFMAG) == 0;
}

/* --- Go: a scheduler of its own --- */

static bool
gonote(const struct elf *e)
{
    Elf64_Phdr ph;
    Elf64_Nhdr nh;
    char name[4];

    /* Go's note is the first of its segment, so the others need no walk. */
    for (unsigned i = 0; phdr(e, i, &ph); i++)
        if (ph.p_type == PT_NOTE && get(e, ph.p_offset, &nh, sizeof nh) &&
            nh.n_namesz == sizeof name &&
            get(e, ph.p_offset + sizeof nh, name, sizeof name) &&
            memcmp(name, "Go\0", sizeof name) == 0)
            return true;
    return false;
}

static bool
gosection(const struct elf *e)
{
    Elf64_Shdr names, sh;

    if (!shdr(e, e->eh.e_shstrndx, &names))
        return false;
    for (unsigned i = 0; shdr(e, i, &sh); i++) {
        const char *name = text(e, names.sh_offset + sh.sh_name);

        if (strcmp(name, ".go.buildinfo") == 0 ||
            strcmp(name, ".note.go.buildid") == 0)
            return true;
    }
    return false;
}

/* --- sanitizers: they keep their own books of threads and stacks --- */

static const struct {
    const char *name, *lib, *init;
} sanitizers[] = {
    { "AddressSanitizer", "libasan.so", "__asan_init" },
    { "AddressSanitizer", "libclang_rt.asan", "__asan_init" },
    { "ThreadSanitizer", "libtsan.so", "__tsan_init" },
    { "ThreadSanitizer", "libclang_rt.tsan", "__tsan_init" },
    { "MemorySanitizer", "libclang_rt.msan", "__msan_init" },
    { "HWAddressSanitizer", "libhwasan.so", "__hwasan_init" },
    { "LeakSanitizer", "liblsan.so", "__lsan_init" },
};

enum { NSANITIZERS = sizeof sanitizers / sizeof sanitizers[0] };

static const char *
neededsanitizer(const struct elf *e)
{
    Elf64_Phdr ph;
    Elf64_Dyn d;
    uint64_t strtab = UINT64_MAX, n;

    if (!findphdr(e, PT_DYNAMIC, &ph))
        return NULL;
    n = ph.p_filesz / sizeof d;
    for (uint64_t i = 0; i < n && get(e, ph.p_offset + i * sizeof d, &d,
        sizeof d) && d.d_tag != DT_NULL; i++)
        if (d.d_tag == DT_STRTAB)
            strtab = offset(e, d.d_un.d_ptr);
    if (strtab == UINT64_MAX)
        return NULL;
    for (uint64_t i = 0; i < n && get(e, ph.p_offset + i * sizeof d, &d,
        sizeof d) && d.d_tag != DT_NULL; i++) {
        const char *lib;

        if (d.d_tag != DT_NEEDED)
            continue;
        lib = text(e, strtab + d.d_un.d_val);
        for (int s = 0; s < NSANITIZERS; s++)
            if (strncmp(lib, sanitizers[s].lib,
                strlen(sanitizers[s].lib)) == 0)
                return sanitizers[s].name;
    }
    return NULL;
}

/* A statically linked one.  Weak references only ask whether one is there. */
static const char *
symbolsanitizer(const struct elf *e, const Elf64_Shdr *tab)
{
    Elf64_Shdr strs;
    Elf64_Sym sym;

    if (!shdr(e, tab->sh_link, &strs))
        return NULL;
    for (uint64_t i = 0; i < tab->sh_size / sizeof sym && get(e,
        tab->sh_offset + i * sizeof sym, &sym, sizeof sym); i++) {
        const char *name;

        if (sym.st_shndx == SHN_UNDEF &&
            ELF64_ST_BIND(sym.st_info) == STB_WEAK)
            continue;
        /* Look at two bytes before text(), which walks to the end. */
        if (strs.sh_offset > e->size || sym.st_name > e->size -
            strs.sh_offset || e->size - strs.sh_offset - sym.st_name < 2 ||
            memcmp(e->p + strs.sh_offset + sym.st_name, "__", 2) != 0)
            continue;
        name = text(e, strs.sh_offset + sym.st_name);
        for (int s = 0; s < NSANITIZERS; s++)
            if (strcmp(name, sanitizers[s].init) == 0)
                return sanitizers[s].name;
    }
    return NULL;
}

static const char *
sanitizer(const struct elf *e)
{
    const char *name = neededsanitizer(e);
    Elf64_Shdr sh;

    for (unsigned i = 0; name == NULL && shdr(e, i, &sh); i++)
        if (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB)
            name = symbolsanitizer(e, &sh);
    return name;
}

/* --- the verdict --- */

static const char *
machine(unsigned m)
{
    switch (m) {
    case EM_386: return "i386";
    case EM_X86_64: return "32-bit x86-64 (x32)";
    case EM_AARCH64: return "arm64";
    case EM_ARM: return "arm";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return "unknown";
    }
}

static bool
loadercheck(struct verdict *v, const struct elf *e)
{
    Elf64_Phdr ph;
    const char *loader, *base;

    if (!findphdr(e, PT_INTERP, &ph))
        return refuse(v, "statically linked");
    loader = text(e, ph.p_offset);
    base = strrchr(loader, '/');
    base = base != NULL ? base + 1 : loader;
    if (strncmp(base, "ld-musl", 7) == 0)
        return refuse(v, "uses musl, not glibc");
    if (strcmp(base, "ld-linux-x86-64.so.2") != 0)
        return refuse(v, "its dynamic linker %.150s is not glibc's", loader);
    return true;
}

/* Are all segments that the kernel will map in the file? */
static bool
complete(const struct elf *e)
{
    Elf64_Phdr ph;
    bool any = false;

    for (unsigned i = 0; i < e->eh.e_phnum; i++) {
        if (!phdr(e, i, &ph))
            return false;
        if (ph.p_type != PT_LOAD)
            continue;
        any = true;
        if (ph.p_offset > e->size || ph.p_filesz > e->size - ph.p_offset)
            return false;
    }
    return any;
}

bool
elfcheck(struct verdict *v, const unsigned char *file, size_t size)
{
    struct elf e;
    const char *name;

    if (!openelf(&e, file, size))
        return refuse(v, "not a complete ELF file");
    if (!isours(&e))
        return refuse(v, "built for another architecture (%s)",
            machine(e.eh.e_machine));
    if ((e.eh.e_type != ET_EXEC && e.eh.e_type != ET_DYN) || !complete(&e))
        return refuse(v, "not a complete ELF executable");
    /* Before the loader: a static Go program is first of all Go. */
    if (gosection(&e) || gonote(&e))
        return refuse(v, "a Go program has its own scheduler");
    if (!loadercheck(v, &e))
        return false;
    name = sanitizer(&e);
    if (name != NULL)
        return refuse(v, "built with %s", name);
    return true;
}

/* Can ld.so preload it at all? */
bool
elfislibrary(const unsigned char *file, size_t size)
{
    struct elf e;
    Elf64_Phdr ph;

    return openelf(&e, file, size) && isours(&e) && e.eh.e_type == ET_DYN &&
        findphdr(&e, PT_DYNAMIC, &ph);
}

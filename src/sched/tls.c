/* The thread block: everything that we know about glibc's insides, and nothing of it elsewhere.
 *
 * A G is a full glibc thread without a kernel task of its own: %fs points to a struct pthread with static TLS
 * below it, which we make from a template. The template is the struct pthread of one real thread, taken
 * before that thread did anything; each word of it that points into itself is moved. Sizes and offsets
 * come from the symbols which libc exports for debuggers (_thread_db_*), or are found by looking what
 * a documented call changes in the template (stack, cancel state and type, cleanup list). What cannot
 * be found is a refusal at boot, never a guess.
 *
 * A G's block, from low to high addresses: stack | static TLS | struct pthread | struct g.
 *
 * A finished G keeps its block. Made fresh again (tlsrenew), it keeps libc's own TLS, whose malloc
 * cache is warm; every other module's TLS is set to its image, and dynamic TLS is freed.
 */
#define _GNU_SOURCE 1
#include "sched/sched.h"
#include "base/real.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <link.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

_Thread_local struct m *curm;
_Thread_local int curtid;

enum { MAXMODULES = 128, KEYSPERBLOCK = 32 };

struct module {
    ptrdiff_t offset;           /* of its block from the thread pointer; negative */
    const char *image;
    size_t filesz, memsz;
};

static struct {
    size_t pthread_size, tls_size, tls_align;
    size_t tid, list, specific, cancelhandling;
    size_t cancelstate, canceltype;         /* bytes */
    size_t cleanup;                         /* cleanup_jmp_buf */
    size_t lm_modid, lm_offset;             /* in struct link_map */
    size_t robust;                          /* robust_head */
    ptrdiff_t rseq;                         /* of its rseq area from the thread pointer; 0: not registered */
    size_t stackblock;                      /* address, then size; 0 if not found */
    ptrdiff_t resp, res;                    /* TLS __resp, and what it points to in struct pthread */
    void *(*allocate_tls)(void *);
    void (*ctype_init)(void);
    void (*call_tls_dtors)(void);
    struct { uintptr_t seq; void (*destr)(void *); } *keys;
} gl;

static char *template;          /* bytes of the struct pthread */
static char *templatetp;        /* where it lived */
/* Those with static TLS. The list is made in the place that is not in use: a child that is forked meanwhile has the old one. */
static struct modules {
    int n;
    struct module mod[MAXMODULES];
} lists[2], *_Atomic modules = &lists[0];       /* under modlock */
static struct lock modlock;
static _Atomic uint64_t modgen = 1;     /* bumped by dlopen and dlclose */
static _Atomic uint64_t modulesgen;             /* modgen that `modules` was read at */
static _Atomic int loading;     /* threads inside the loader, by our hooks */

struct key_data {
    uintptr_t seq;
    void *data;
};

static const char *missing;

static void *
find(const char *name)
{
    void *sym = real.dlvsym(RTLD_DEFAULT, name, "GLIBC_PRIVATE");

    if (sym == NULL && missing == NULL)
        missing = name;
    return sym;
}

/* A _thread_db_ field descriptor is { bits, elements, byte offset }. */
static size_t
field(const char *name)
{
    const uint32_t *desc = find(name);

    return desc != NULL ? desc[2] : 0;
}

/* Finds the byte of the struct pthread at tp that a call changed; 0 if it is not exactly one. */
static size_t
changed(const char *tp, const char *before)
{
    size_t at = 0;

    for (size_t i = 0; i < gl.pthread_size; i++)
        if (tp[i] != before[i]) {
            if (at != 0)
                return 0;
            at = i;
        }
    return at;
}

/* Where glibc keeps cancel state and type (their place changed between releases) and the list of
 * cleanup buffers. */
static const char *
probe(char *tp)
{
    char *before = template;    /* still as copied */
    __pthread_unwind_buf_t buf;

    /* State and type are bytes of their own since 2.36, bits of cancelhandling before. */
    memcpy(before, tp, gl.pthread_size);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    gl.cancelstate = changed(tp, before);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    memcpy(before, tp, gl.pthread_size);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    gl.canceltype = changed(tp, before);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    if (gl.cancelstate == 0 || gl.canceltype == 0)
        return "cancel state";
    memset(&buf, 0, sizeof buf);
    __pthread_register_cancel(&buf);
    for (size_t i = 0; i + 8 <= gl.pthread_size; i += 8)
        if (*(void **)(tp + i) == &buf)
            gl.cleanup = i;
    __pthread_unregister_cancel(&buf);
    return gl.cleanup == 0 ? "cleanup buffers" : NULL;
}

char *
tlsrobust(void)
{
    char *head = NULL;
    size_t size;

    sys3(SYS_get_robust_list, 0, A(&head), A(&size));
    return head;
}

/* The kernel knows where it is: it was told by set_robust_list. */
static size_t
robusthead(const char *tp)
{
    char *head = tlsrobust();

    return head > tp && head < tp + gl.pthread_size ? (size_t)(head - tp) : 0;
}

/* Runs on the thread that serves as template, which was given the stack [lo, lo + size). */
const char *
tlstemplate(char *lo, size_t size)
{
    char *tp = thread_pointer();
    const char *why;

    rsequnregister();
    template = sysalloc(gl.pthread_size);
    if (template == NULL)
        return "memory";
    templatetp = tp;
    gl.res = *(char **)(tp + gl.resp) - tp;
    gl.robust = robusthead(tp);
    why = gl.robust == 0 ? "robust list" : probe(tp);
    if (why != NULL)
        return why;
    memcpy(template, tp, gl.pthread_size);
    for (size_t i = 0; i + 16 <= gl.pthread_size; i += 8)
        if (*(char **)(tp + i) == lo && *(size_t *)(tp + i + 8) == size)
            gl.stackblock = i;
    *(void **)(template + gl.cleanup) = NULL;
    return NULL;
}

/* rseq belongs to a kernel thread, which runs many blocks: without this the kernel would go on writing
 * CPU numbers to the block that was registered. libc then asks the vDSO. */
void
rsequnregister(void)
{
    if (gl.rseq != 0)
        sys4(SYS_rseq, A(thread_pointer() + gl.rseq), 32, 1 /* RSEQ_FLAG_UNREGISTER */, 0x53053053);
}

size_t
tlsextra(void)
{
    return ((gl.tls_size + gl.tls_align + sizeof(struct g) + 127) & -64ul);
}

/* How far below the thread pointer the module's static TLS lies, 0 if it has none. dlpi_tls_data does not
 * say it for a module that this thread has not used yet. The loader's lock is held by dl_iterate_phdr. */
static size_t
statictls(size_t modid)
{
    for (struct link_map *lm = _r_debug.r_map; lm != NULL; lm = lm->l_next)
        if (*(size_t *)((char *)lm + gl.lm_modid) == modid) {
            ptrdiff_t offset = *(ptrdiff_t *)((char *)lm + gl.lm_offset);

            return offset > 0 ? (size_t)offset : 0;     /* -1: forced to be dynamic */
        }
    return 0;
}

static int
collect(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct modules *found = arg;
    char *tp = thread_pointer(), *data = tp, *err = (char *)&errno, *own = (char *)&curg;

    (void)size;
    if (info->dlpi_tls_modid != 0)
        data -= statictls(info->dlpi_tls_modid);
    if (data == tp || found->n == MAXMODULES)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type != PT_TLS)
            continue;
        if ((err >= data && err < data + ph->p_memsz) || (own >= data && own < data + ph->p_memsz))
            return 0;
        found->mod[found->n++] = (struct module){ data - tp, (const char *)(info->dlpi_addr + ph->p_vaddr),
                                           ph->p_filesz, ph->p_memsz };
    }
    return 0;
}

/* modlock held. */
static bool
known(const struct module *mod)
{
    const struct modules *list = load_rlx(&modules);

    for (int i = 0; i < list->n; i++)
        if (memcmp(&list->mod[i], mod, sizeof *mod) == 0)
            return true;
    return false;
}

/* A library with static TLS was loaded: its variables in the blocks that existed before. glibc does
 * this for its own threads only. Later blocks are born with them. */
static void
initlive(const struct module *mod, uint64_t before)
{
    for (struct g *gp = load_acq(&sched.allgs); gp != NULL; gp = gp->alllink)
        if (!gp->ismain && gp->tlsgen <= before && load_acq(&gp->status) != Gdead) {
            memcpy(gp->tp + mod->offset, mod->image, mod->filesz);
            memset(gp->tp + mod->offset + mod->filesz, 0, mod->memsz - mod->filesz);
        }
}

/* Around calls of the loader that change its list, or walk along it. */
void
tlsloading(int n)
{
    if (n > 0 || load_rlx(&loading) > 0)        /* a child that was forked by a constructor comes out, too */
        atomic_fetch_add(&loading, n);
}

/* Reads the list of modules with static TLS again. dl_iterate_phdr takes the loader's lock, for which
 * a native thread would wait here too: modlock must not be held, the lock's holder may want it. */
static void
readmodules(uint64_t gen, uint64_t before)
{
    struct modules found = { .n = 0 }, *next;
    struct g *me;

    /* collect runs with the loader's lock held: were it preempted, Gs that want the lock would block one M
     * after the other. Not pinned: to wait for the lock is an unannounced wait like any. */
    me = curg;
    if (me != NULL)
        me->nopreempt = true;
    tlsloading(1);
    real.dl_iterate_phdr(collect, &found);
    tlsloading(-1);
    if (me != NULL)
        me->nopreempt = false;
    me = pin();
    lock(&modlock);
    for (int i = 0; i < found.n; i++)
        if (!known(&found.mod[i]))
            initlive(&found.mod[i], before);
    next = load_rlx(&modules) == &lists[0] ? &lists[1] : &lists[0];
    next->n = found.n;
    memcpy(next->mod, found.mod, sizeof *next->mod * (size_t)found.n);
    store_rel(&modules, next);
    store_rel(&modulesgen, gen);
    unlock(&modlock);
    unpin(me);
}

/* Modules may be about to change: the list is read again for the next new G. Gs up to the generation
 * that is returned were born before. */
uint64_t
tlsstale(void)
{
    return atomic_fetch_add(&modgen, 1);
}

/* Modules were loaded or unloaded, since the tlsstale that returned `before`. */
void
tlschanged(uint64_t before)
{
    readmodules(atomic_fetch_add(&modgen, 1) + 1, before);
}

const char *
tlsinit(void)
{
    const uint32_t *size = find("_thread_db_sizeof_pthread");
    void (*info)(size_t *, size_t *) = find("_dl_get_tls_static_info");
    char *resp = find("__resp");
    const ptrdiff_t *rseq;
    const unsigned *rseqsize;

    missing = NULL;
    gl.tid = field("_thread_db_pthread_tid");
    gl.list = field("_thread_db_pthread_list");
    gl.specific = field("_thread_db_pthread_specific");
    gl.cancelhandling = field("_thread_db_pthread_cancelhandling");
    gl.lm_modid = field("_thread_db_link_map_l_tls_modid");
    gl.lm_offset = field("_thread_db_link_map_l_tls_offset");
    gl.allocate_tls = find("_dl_allocate_tls");
    gl.ctype_init = find("__ctype_init");
    gl.call_tls_dtors = find("__call_tls_dtors");
    gl.keys = find("__pthread_keys");
    if (size == NULL || info == NULL || resp == NULL || missing != NULL)
        return missing != NULL ? missing : "_thread_db_sizeof_pthread";
    gl.pthread_size = *size;
    info(&gl.tls_size, &gl.tls_align);
    gl.resp = resp - thread_pointer();
    if (gl.tls_align < 64)
        gl.tls_align = 64;
    /* Looked up here, once: a new M must not need the loader's lock, whose holder may wait for an M. */
    rseq = real.dlsym(RTLD_DEFAULT, "__rseq_offset");
    rseqsize = real.dlsym(RTLD_DEFAULT, "__rseq_size");
    gl.rseq = rseq != NULL && rseqsize != NULL && *rseqsize != 0 ? *rseq : 0;
    if (load_rlx(&modulesgen) != load_rlx(&modgen))
        readmodules(load_rlx(&modgen), 0);
    arch_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0;
    return NULL;
}

/* In a forked child. A thread that was inside the loader has left the loader's lock behind, taken for ever: libc's own pthread_create
 * does not need it, so neither may we. What that thread was loading is nobody's now. */
void
tlsreset(void)
{
    store_rlx(&modlock.key, 0);
    if (load_rlx(&loading) > 0)
        store_rlx(&modulesgen, load_rlx(&modgen));
    store_rlx(&loading, 0);
}

/* Dynamic TLS of the thread before us: freed as at the end of a native thread. dtv[-1].counter is
 * the number of slots, each { value, to_free }; -1 says not allocated. */
static void
freedynamic(char *tp)
{
    struct { void *val, *to_free; } *dtv = ((void **)tp)[1];
    size_t n = (size_t)dtv[-1].val;

    for (size_t i = 1; i <= n; i++)
        if (dtv[i].to_free != NULL) {
            free(dtv[i].to_free);
            dtv[i].val = (void *)-1;
            dtv[i].to_free = NULL;
        }
}

static void
renewmodules(struct g *gp)
{
    const struct modules *list;
    struct g *me = pin();

    lock(&modlock);
    list = load_rlx(&modules);
    for (int i = 0; i < list->n; i++) {
        const struct module *mod = &list->mod[i];
        char *to = gp->tp + mod->offset;

        memcpy(to, mod->image, mod->filesz);
        memset(to + mod->filesz, 0, mod->memsz - mod->filesz);
    }
    unlock(&modlock);
    unpin(me);
}

void
tlsrenew(struct g *gp, int tid)
{
    uint64_t gen = load_acq(&modgen);

    if (unlikely(load_acq(&modulesgen) != gen))
        readmodules(gen, 0);
    gp->tlsgen = gen;
    if (load_acq(&modules)->n > 0)      /* none appeared since modulesgen was set to gen */
        renewmodules(gp);
    freedynamic(gp->tp);
    store_rlx((_Atomic int *)(gp->tp + gl.cancelhandling), *(int *)(template + gl.cancelhandling));
    gp->tp[gl.cancelstate] = template[gl.cancelstate];
    *(int *)(gp->tp + gl.tid) = gp->tid = tid;
    *(int *)(gp->tp + ((char *)&curtid - thread_pointer())) = tid;
    gp->tp[gl.canceltype] = template[gl.canceltype];
}

static void
relocate(char *tp)
{
    uint64_t *to = (uint64_t *)tp, *from = (uint64_t *)template;
    uint64_t old = (uint64_t)templatetp;

    for (size_t i = 0; i < gl.pthread_size / 8; i++) {
        uint64_t word = from[i];

        to[i] = word - old < gl.pthread_size ? word - old + (uint64_t)tp : word;
    }
}

/* Makes a thread block at the top of the slot. Calls malloc through _dl_allocate_tls: for hooks only. */
struct g *
tlsnew(const struct slot *slot, int tid)
{
    char *hi = slot->base + slot->size;
    struct g *gp = (struct g *)((uintptr_t)(hi - sizeof(struct g)) & -64ul);
    char *tp = (char *)(((uintptr_t)gp - gl.pthread_size) & -gl.tls_align);
    void **list = (void **)(tp + gl.list);
    char *self = thread_pointer();

    relocate(tp);
    ((void **)tp)[1] = NULL;
    if (gl.allocate_tls(tp) == NULL)
        return NULL;
    memset(gp, 0, sizeof *gp);
    gp->tp = tp;
    gp->tlsgen = load_acq(&modgen);
    gp->tid = tid;
    gp->slot = *slot;
    gp->stklo = slot->base + slot->guard;
    gp->stkhi = (char *)((uintptr_t)(tp + gl.pthread_size - gl.tls_size - 64) & -64ul);
    *(int *)(tp + gl.tid) = tid;
    list[0] = list[1] = list;           /* in no list of libc's: unlinking it does nothing */
    *(char **)(tp + gl.resp) = tp + gl.res;
    *(struct g **)(tp + ((char *)&curg - self)) = gp;
    *(int *)(tp + ((char *)&curtid - self)) = tid;
    return gp;
}

/* Tells libc's struct pthread what stack its thread runs on. */
void
tlsstack(struct g *gp)
{
    if (gl.stackblock != 0) {
        *(char **)(gp->tp + gl.stackblock) = gp->stklo;
        *(size_t *)(gp->tp + gl.stackblock + 8) = (size_t)(gp->stkhi - gp->stklo);
    }
}

/* In cancelhandling, in all versions: the thread has begun to end (EXITING_BIT). */
enum { Exiting = 1 << 4 };

/* What libc's pthread_cancel notes there. libc itself would also signal a thread that it finds in one of its own waits, and
 * unwind it while its G is in a system call. */
void
tlscancel(struct g *gp)
{
    enum { Canceling = 1 << 2, Canceled = 1 << 3 };

    atomic_fetch_or((_Atomic int *)(gp->tp + gl.cancelhandling), Canceling | Canceled);
}

/* Deferred cancellation may act on gp where it waits: enabled, and not asked for asynchronously. */
bool
tlscancelable(const struct g *gp)
{
    int bits = *(int *)(gp->tp + gl.cancelhandling);

    if (bits & Exiting)
        return false;           /* it unwinds: its cleanup handlers may wait */
    if (gl.cancelstate - gl.cancelhandling < sizeof bits)       /* a bit of cancelhandling, before 2.36 */
        return (bits & 1) == 0;
    return gp->tp[gl.cancelstate] == PTHREAD_CANCEL_ENABLE;
}

/* It asked for cancellation at any point (PTHREAD_CANCEL_ASYNCHRONOUS) and did not disable it. */
bool
tlsasync(const struct g *gp)
{
    int bits = *(int *)(gp->tp + gl.cancelhandling);

    if (bits & Exiting)
        return false;
    if (gl.canceltype - gl.cancelhandling < sizeof bits)
        return (bits & 3) == 2;
    return gp->tp[gl.canceltype] == PTHREAD_CANCEL_ASYNCHRONOUS && tlscancelable(gp);
}

/* For a kernel thread that is nobody's G nor M but needs a thread block of its own. */
char *
tlsforeignblock(struct g *gp)
{
    ptrdiff_t self = (char *)&curg - thread_pointer(), tid = (char *)&curtid - thread_pointer();

    *(struct g **)(gp->tp + self) = NULL;
    *(int *)(gp->tp + tid) = 0;
    return gp->tp;
}

void
tlsforeign(void)
{
    *(int *)(thread_pointer() + gl.tid) = (int)sys3(SYS_gettid, 0, 0, 0);
    gl.ctype_init();
}

/* gp is locked to its M and takes mutexes of which the kernel knows the owner: its block shows the
 * kernel's tid, and its robust list is the kernel thread's. */
void
tlsborrow(struct g *gp, int tid)
{
    *(int *)(gp->tp + gl.tid) = tid;
    sys3(SYS_set_robust_list, A(gp->tp + gl.robust), 24, 0);
}

void
tlsreturn(struct g *gp)
{
    *(int *)(gp->tp + gl.tid) = gp->tid;
    sys3(SYS_set_robust_list, A(gp->m->robust), 24, 0);
}

/* gp ends and holds mutexes of the kernel's kind: what the kernel does at the end of a thread (its
 * documentation, robust-futex-ABI), since the kernel thread lives on. Those of priority inheritance, marked by
 * bit 0 of the link, are left to whoever waits: the kernel alone may hand them over. */
void
tlsownerdies(struct g *gp)
{
    struct { uintptr_t next; long offset; uintptr_t pending; } *head = (void *)(gp->tp + gl.robust);
    uintptr_t entry = head->next;
    uint32_t tid = *(uint32_t *)(gp->tp + gl.tid);

    for (int i = 0; (entry & ~(uintptr_t)1) != (uintptr_t)head && entry != 0 && i < 1 << 20; i++) {
        bool pi = entry & 1;
        uintptr_t at = entry & ~(uintptr_t)1;
        _Atomic uint32_t *word = (_Atomic uint32_t *)(at + (uintptr_t)head->offset);
        uint32_t w = load_rlx(word);

        entry = *(uintptr_t *)at;
        while (!pi && (w & FUTEX_TID_MASK) == tid) {
            if (!atomic_compare_exchange_strong(word, &w, (w & FUTEX_WAITERS) | FUTEX_OWNER_DIED))
                continue;
            if (w & FUTEX_WAITERS)
                sys3(SYS_futex, A(word), FUTEX_WAKE, 1);
            break;
        }
    }
    head->next = (uintptr_t)head;
}

/* A pthread_t is the address of a struct pthread: its curg tells whether it is a G. */
struct g *
gof(pthread_t th)
{
    return *(struct g **)((char *)th + ((char *)&curg - thread_pointer()));
}

void
tlsstart(void)
{
    gl.ctype_init();
    if (uselocale((locale_t)0) != LC_GLOBAL_LOCALE)
        uselocale(LC_GLOBAL_LOCALE);
    errno = 0;
}

/* pthread keys: as glibc's __nptl_deallocate_tsd, by the layout that libc describes to debuggers. */
static bool
keyround(char *tp)
{
    struct key_data **level1 = (struct key_data **)(tp + gl.specific);
    bool again = false;

    for (size_t i = 0; i < PTHREAD_KEYS_MAX / KEYSPERBLOCK; i++) {
        struct key_data *level2 = level1[i];

        for (size_t j = 0; level2 != NULL && j < KEYSPERBLOCK; j++) {
            void *data = level2[j].data;
            size_t key = i * KEYSPERBLOCK + j;

            if (data == NULL)
                continue;
            level2[j].data = NULL;
            if (level2[j].seq == gl.keys[key].seq && gl.keys[key].destr != NULL) {
                gl.keys[key].destr(data);
                again = true;
            }
        }
    }
    return again;
}

void
tlsexit(struct g *gp)
{
    gl.call_tls_dtors();
    if (gp->specused)
        for (int i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS && keyround(gp->tp); i++)
            ;
    gp->specused = false;
}

/* pthread_exit of the main thread ends, in glibc, with the kernel thread's end: but that may be
 * running another G by then. The outermost cleanup buffer, which libc's start code put on main's stack,
 * says where forced unwinding goes on at last: we put `to` there. The buffer is a jmp_buf whose
 * program counter (word 7) is mangled with the pointer guard at %fs:0x30. */
bool
tlsmainexit(void (*to)(void))
{
    __pthread_unwind_buf_t buf;
    uintptr_t *last = NULL, guard, pc = (uintptr_t)to;

    memset(&buf, 0, sizeof buf);
    __pthread_register_cancel(&buf);
    for (uintptr_t *b = buf.__pad[0]; b != NULL;) {
        last = b;
        b = (uintptr_t *)((__pthread_unwind_buf_t *)(void *)b)->__pad[0];
    }
    __pthread_unregister_cancel(&buf);
    if (last == NULL)
        return false;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    pc ^= guard;
    last[7] = pc << 17 | pc >> 47;
    return true;
}

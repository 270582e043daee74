/* Loading of libraries, and dlsym, which must give for a name that we intercept what a program that calls
 * the name gets: us. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "base/elfsym.h"
#include <string.h>

/* The loader's lock is held while it runs what is not its own: constructors, destructors, callbacks. A G that
 * was preempted there would make all who want the lock block their Ms. Returns what was set before. */
static bool
nopreempt(bool on)
{
    struct g *gp = curg;
    bool before = gp != NULL && gp->nopreempt;

    if (gp != NULL)
        gp->nopreempt = on;
    return before;
}

/* A library that brings static TLS: the Gs that exist get it after its constructors have run. */
static void
loaded(uint64_t before)
{
    int saved = errno;

    if (active)
        tlschanged(before);
    tlsloading(-1);
    errno = saved;
}

/* The loader searches a bare name by the RUNPATH of the object that calls dlopen. That must not become us:
 * where the caller has one, this is a jump, and static TLS of what it loads is not set in older Gs. */
static bool
hasrunpath(const void *caller)
{
    struct link_map *lm = NULL;
    Dl_info info;

    if (dladdr1(caller, &info, (void **)&lm, RTLD_DL_LINKMAP) == 0 || lm == NULL)
        return true;
    for (const ElfW(Dyn) *d = lm->l_ld; d != NULL && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_RUNPATH || d->d_tag == DT_RPATH)
            return true;
    return false;
}

/* The loader is entered by one G at a time, as its own lock would have it: who waits parks here. In there he would keep an M each,
 * while no M can be made: that takes a lock of the loader's, too. But not for ever: who has the loader's lock without this one (libc
 * itself, the jump in dlopen) may want this one next. After a while one waits in there. */
static pthread_mutex_t entry = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* And not before another M is there: the one in the loader may wait for a G that walks along the list (dl_iterate_phdr). */
static bool
enter(void)
{
    enum { Tries = 100, Patience = 20000000 };
    const struct timespec ts = { 0, 100000 };
    struct timespec until;
    struct g *gp = getg();
    bool entered;

    if (!active)
        return false;
    entered = mutex_trylock(&entry) == 0;
    if (!entered) {
        int64_t when = nanotime() + Patience;

        until = (struct timespec){ when / 1000000000, when % 1000000000 };
        entered = mutex_timedlock(&entry, CLOCK_MONOTONIC, &until) == 0;
    }
    for (int i = 0; i < Tries && gp != NULL && !havespare(gp); i++)
        sleep_for(&ts, NULL);
    return entered;
}

static void
leave(bool entered)
{
    if (entered)
        mutex_unlock(&entry);
}

/* In a forked child: libc makes its own lock new, too. */
void
loadreset(void)
{
    static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

    entry = fresh;
}

HOOK void *
dlopen(const char *path, int mode)
{
    uint64_t before;
    bool outer, entered;
    void *h;

    mode &= ~RTLD_DEEPBIND;     /* it would bind the library to libc past us: two kinds of threads in one program */
    if (!active)
        return real.dlopen(path, mode);
    entered = enter();
    if (path == NULL || (strchr(path, '/') == NULL && hasrunpath(__builtin_return_address(0)))) {
        leave(entered);
        tlsstale();
        return real.dlopen(path, mode);
    }
    before = tlsstale();
    tlsloading(1);
    outer = nopreempt(true);
    h = real.dlopen(path, mode);
    nopreempt(outer);
    loaded(before);
    leave(entered);
    return h;
}

/* AddressSanitizer's library ends the program unless it is the first one in this list. Such a program can be a child of one on
 * Gs, and shall work as it does without us: there we come last. */
struct list {
    int (*callback)(struct dl_phdr_info *, size_t, void *);
    void *data;
    struct dl_phdr_info own;
    size_t size;                /* of own; 0: it has not come */
};

static int
others(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct list *list = arg;

    if (info->dlpi_addr != elfself()->l_addr)
        return list->callback(info, size, list->data);
    memcpy(&list->own, info, size < sizeof *info ? size : sizeof *info);
    list->size = size;
    return 0;
}

/* No strstr: it would be AddressSanitizer's, which is only about to set itself up. */
static bool
contains(const char *s, const char *part)
{
    for (; *s != '\0'; s++) {
        size_t i = 0;

        while (part[i] != '\0' && s[i] == part[i])
            i++;
        if (part[i] == '\0')
            return true;
    }
    return false;
}

static bool
wantsfirst(void)
{
    static _Atomic int known;   /* 0: not looked yet, 1: no, 2: yes */

    if (load_rlx(&known) == 0) {
        int is = 1;

        for (const struct link_map *lm = _r_debug.r_map; lm != NULL; lm = lm->l_next)
            if (contains(lm->l_name, "/libasan.so") || contains(lm->l_name, "/libclang_rt.asan"))
                is = 2;
        store_rlx(&known, is);
    }
    return load_rlx(&known) == 2;
}

HOOK int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    bool outer = nopreempt(true);
    struct list list = { .callback = callback, .data = data };
    int r;

    if (active)
        tlsloading(1);
    if (unlikely(!active && elfself() != NULL && wantsfirst())) {
        r = real.dl_iterate_phdr(others, &list);
        if (r == 0 && list.size != 0)
            r = callback(&list.own, list.size, data);
    } else {
        r = real.dl_iterate_phdr(callback, data);
    }
    if (active)
        tlsloading(-1);
    nopreempt(outer);
    return r;
}

HOOK void *
dlmopen(Lmid_t ns, const char *path, int mode)
{
    bool entered = enter(), outer = nopreempt(true);
    uint64_t before = active ? tlsstale() : 0;
    void *h;

    tlsloading(1);
    h = real.dlmopen(ns, path, mode & ~RTLD_DEEPBIND);
    nopreempt(outer);
    loaded(before);
    leave(entered);
    return h;
}

HOOK int
dlclose(void *h)
{
    bool entered = enter(), outer = nopreempt(true);
    int r;

    tlsloading(1);
    r = real.dlclose(h);
    nopreempt(outer);
    loaded(0);
    leave(entered);
    return r;
}

/* ---- dlsym ----
 *
 * libc's definition of a name of ours is never what the program wants, with one exception: an object that
 * defines the name itself wraps it, and asks for what comes next. It has come behind us in the chain already
 * (we called it as next in line), and would call us for ever.
 *
 * dlsym goes by its caller (RTLD_NEXT), so for all other names, and that exception, this must be a jump.
 */
enum answer { Theirs, Ours, OursForLibcs };

static enum answer
whose(void *handle, const char *name, const void *caller)
{
    struct link_map *lm = NULL;
    Dl_info info;

    if (dladdr1(caller, &info, (void **)&lm, RTLD_DL_LINKMAP) == 0 || lm == NULL || elfsym(lm, name) != NULL)
        return Theirs;
    if (handle != RTLD_NEXT)
        return OursForLibcs;
    for (const struct link_map *after = elfself(); after != NULL; after = after->l_next)
        if (after == lm)
            return Ours;
    return Theirs;              /* the program itself, or what stands before us: we are next */
}

/* What we define under that name, or NULL. */
static void *
ourown(const char *name)
{
    const struct link_map *self = elfself();

    return self != NULL && name != NULL ? elfsym(self, name) : NULL;
}

/* Is r libc's definition that ours stands for: its default version, or the only one, of old (__pthread_mutex_lock)? */
static bool
libcs(void *r, const char *name)
{
    void *newest = elfsym(elflibc(), name);
    struct link_map *lm = NULL;
    Dl_info info;

    if (newest != NULL || r == NULL)
        return r != NULL && r == newest;
    return dladdr1(r, &info, (void **)&lm, RTLD_DL_LINKMAP) != 0 && lm == elflibc();
}

HOOK void *
dlsym(void *restrict handle, const char *restrict name)
{
    void *own = ourown(name), *r;
    enum answer a = Theirs;

    if (unlikely(own != NULL))
        a = whose(handle, name, __builtin_return_address(0));
    if (a == Theirs)
        return real.dlsym(handle, name);
    if (a == Ours)
        return own;
    r = real.dlsym(handle, name);
    return libcs(r, name) ? own : r;
}

/* Old versions of a name (the condition variables of LinuxThreads) are left to libc. */
HOOK void *
dlvsym(void *restrict handle, const char *restrict name, const char *restrict version)
{
    void *own = ourown(name), *r;
    enum answer a = Theirs;

    if (unlikely(own != NULL))
        a = whose(handle, name, __builtin_return_address(0));
    if (a == Theirs || handle == RTLD_NEXT)
        return real.dlvsym(handle, name, version);
    r = real.dlvsym(handle, name, version);
    return libcs(r, name) ? own : r;
}

/* fork and what is like it; loading of libraries. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include <link.h>
#include <string.h>

/* The child handler registered in init.c makes the child passive, before any other handler runs there. */
HOOK pid_t
fork(void)
{
    return real.fork();
}

HOOK pid_t
_Fork(void)
{
    pid_t pid = real._Fork();

    if (pid == 0 && active) {
        parkreset();
        signal_reset();
        bootchild();
    }
    return pid;
}

/* arch's vfork comes here when active: the child would share the runtime with its sleeping parent. */
__attribute__((used)) pid_t
vforkactive(void)
{
    return fork();
}

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

HOOK void *
dlopen(const char *path, int mode)
{
    uint64_t before;
    bool outer;
    void *h;

    if (!active)
        return real.dlopen(path, mode);
    if (path == NULL || (strchr(path, '/') == NULL && hasrunpath(__builtin_return_address(0)))) {
        tlsstale();
        return real.dlopen(path, mode);
    }
    before = tlsstale();
    outer = nopreempt(true);
    h = real.dlopen(path, mode);
    nopreempt(outer);
    loaded(before);
    return h;
}

HOOK int
dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    bool outer = nopreempt(true);
    int r = real.dl_iterate_phdr(callback, data);

    nopreempt(outer);
    return r;
}

HOOK void *
dlmopen(Lmid_t ns, const char *path, int mode)
{
    uint64_t before = active ? tlsstale() : 0;
    bool outer = nopreempt(true);
    void *h = real.dlmopen(ns, path, mode);

    nopreempt(outer);
    loaded(before);
    return h;
}

HOOK int
dlclose(void *h)
{
    bool outer = nopreempt(true);
    int r = real.dlclose(h);

    nopreempt(outer);
    loaded(0);
    return r;
}

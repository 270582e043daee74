/* fork and what is like it; loading of libraries. */
#define _GNU_SOURCE 1
#include "hook/hook.h"

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

HOOK void *
dlopen(const char *path, int mode)
{
    void *h = real.dlopen(path, mode);

    tlschanged();
    return h;
}

HOOK void *
dlmopen(Lmid_t ns, const char *path, int mode)
{
    void *h = real.dlmopen(ns, path, mode);

    tlschanged();
    return h;
}

HOOK int
dlclose(void *h)
{
    int r = real.dlclose(h);

    tlschanged();
    return r;
}

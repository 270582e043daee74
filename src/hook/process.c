/* fork and what is like it. */
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

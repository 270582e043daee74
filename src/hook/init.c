/* The library's constructor, which runs before all others (-z initfirst), and fork's child handler. */
#define _GNU_SOURCE 1
#include "hook/hook.h"
#include "base/env.h"
#include <string.h>
#include <sys/prctl.h>

/* GOSSAMER_CHILDREN=drop: what this process executes runs without us. Takes the entries that end in
 * our name out of LD_PRELOAD, in place. */
static void
droppreload(char **envp)
{
    char *from = (char *)(uintptr_t)env_get(envp, "LD_PRELOAD"), *to = from;
    static const char own[] = "libgossamer.so";

    if (from == NULL)
        return;
    while (*from != '\0') {
        size_t n = strcspn(from, ": ");
        bool ours = n >= sizeof own - 1 && memcmp(from + n - (sizeof own - 1), own, sizeof own - 1) == 0;
        char sep = from[n];

        if (!ours) {
            memmove(to, from, n);
            to += n;
            if (sep != '\0')
                *to++ = sep;
        }
        from += n + (sep != '\0');
    }
    *to = '\0';
}

__attribute__((constructor)) static void
init(int argc, char **argv, char **envp)
{
    const char *disable = env_get(envp, "GOSSAMER_DISABLE"), *stack = env_get(envp, "GOSSAMER_STACK");
    const char *children = env_get(envp, "GOSSAMER_CHILDREN");
    unsigned long size;

    (void)argc;
    (void)argv;
    bootfiltered = sys3(SYS_prctl, PR_GET_SECCOMP, 0, 0) > 0;
    realinit();
    syscallinit();
    if (disable != NULL && disable[0] != '\0' && strcmp(disable, "0") != 0)
        bootrefuse();
    if (stack != NULL && stack[0] != '\0') {
        if (env_size(stack, &size) < 0 || size < MINSTACK || size > MAXSTACK)
            print("gossamer: GOSSAMER_STACK=%s is not a size from 16K to 1024G; ignored\n", stack);
        else
            defaultstack = (size + pagesize - 1) & -pagesize;
    }
    if (children != NULL && strcmp(children, "drop") == 0)
        droppreload(envp);
    else if (children != NULL && children[0] != '\0' && strcmp(children, "keep") != 0)
        print("gossamer: GOSSAMER_CHILDREN=%s is neither keep nor drop; ignored\n", children);
    pthread_atfork(NULL, NULL, forked);     /* the first child handler: the others find a passive process */
}

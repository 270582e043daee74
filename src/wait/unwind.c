/* What the compiler calls for a frame with a cleanup (once(), through which exceptions may fly): libgcc_s.
 *
 * Linked against, it would be loaded into every passive process, where its constructor alone costs more than
 * all of ours (it asks the CPU for its features, which traps in a virtual machine). So the two names are
 * defined here and passed on to the libgcc_s that is doing the unwinding; unwindinit finds it before a
 * frame with a cleanup exists.
 */
#define _GNU_SOURCE 1
#include "wait/wait.h"
#include "base/real.h"

typedef int personality(int, int, uint64_t, void *, void *);

static personality *_Atomic realpersonality;
static void (*realresume)(void *);

personality __gcc_personality_v0;
_Noreturn void _Unwind_Resume(void *exception);

void
unwindinit(void)
{
    void *libgcc;

    if (likely(load_acq(&realpersonality) != NULL))
        return;
    if (curg != NULL)
        curg->nopreempt = true; /* under the loader's lock runs its constructor */
    libgcc = real.dlopen("libgcc_s.so.1", RTLD_LAZY);
    if (curg != NULL)
        curg->nopreempt = false;
    if (libgcc == NULL)
        return;                 /* then nobody throws */
    *(void **)&realresume = real.dlsym(libgcc, "_Unwind_Resume");
    store_rel(&realpersonality, (personality *)real.dlsym(libgcc, "__gcc_personality_v0"));
}

int
__gcc_personality_v0(int version, int actions, uint64_t class, void *exception, void *context)
{
    return load_acq(&realpersonality)(version, actions, class, exception, context);
}

void
_Unwind_Resume(void *exception)
{
    realresume(exception);
    __builtin_unreachable();
}

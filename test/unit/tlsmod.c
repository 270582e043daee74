/* A module with thread-local storage of its own, for tls.c: unlike that of the module which the runtime is
 * in, it is made anew for each G. */
#include "tlsmod.h"

__thread int tlsmod_set = 1234;
__thread char tlsmod_zero[100];
__thread long tlsmod_aligned __attribute__((aligned(64))) = -1;

int *
tlsmod_get(void)
{
    return &tlsmod_set;
}

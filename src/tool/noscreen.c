/*
 * gossamer top where ncurses was missing: lines only.
 */
#include "inspect.h"
#include "tool.h"

int
topscreen(struct toplook *l, int64_t delay)
{
    (void)l;
    (void)delay;
    complain("top: no screen in this build, which was made without ncurses (-b prints lines)");
    return EXIT_TARGET;
}

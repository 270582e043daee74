/*
 * The sub-commands that look into a process, where the libraries they are made
 * with were missing: they say so.
 */
#include "inspect.h"
#include "tool.h"

static int
missing(const char *command)
{
    complain("%s: not in this build (it was made without libunwind, libdw or zlib)", command);
    return EXIT_TARGET;
}

int
ps_main(int argc, char **argv)
{
    (void)argc;
    return missing(argv[0]);
}

int
stacks_main(int argc, char **argv)
{
    (void)argc;
    return missing(argv[0]);
}

int
profile_main(int argc, char **argv)
{
    (void)argc;
    return missing(argv[0]);
}

int
top_main(int argc, char **argv)
{
    (void)argc;
    return missing(argv[0]);
}

#include "inspect.h"
#include "tool.h"
int profile_main(int argc, char **argv) { (void)argc;(void)argv; complain("profile: not yet"); return 1; }
int top_main(int argc, char **argv) { (void)argc;(void)argv; complain("top: not yet"); return 1; }

/* Finding a symbol of one loaded object by name, without the loader. See elfsym.c. */
#ifndef GOSSAMER_ELFSYM_H
#define GOSSAMER_ELFSYM_H

#include <link.h>
#include <stdbool.h>

/* The default version of `name` as lm itself defines it, or NULL. Takes no lock; lm must stay loaded. IFUNCs are
 * not resolved: none of the names that we ask for is one. */
void *elfsym(const struct link_map *lm, const char *name);
bool elfrefers(const struct link_map *lm, const char *name);    /* lm uses it, from another object */
struct link_map *elfself(void);                 /* ourselves */
const struct link_map *elflibc(void);
void *elfnext(const char *name);                /* the definition in the first object after us that has one */

#endif

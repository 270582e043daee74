/* What the process says of itself on stderr: all Gs (dump.c), a deadlock (deadlock.c), counters (stats.c). */
#ifndef GOSSAMER_WAIT_DUMP_H
#define GOSSAMER_WAIT_DUMP_H

#include "wait/wait.h"

/* ---- dump.c; all of it may be called in a signal handler, anywhere ---- */

/* "gossamer: WHY", then what `more` prints, then a paragraph for each G. With the context that a signal has
 * interrupted, for the G that runs here. */
void dump(const char *why, void (*more)(void), const void *ucontext);
bool dump_object(struct g *gp, const void **addr, bool *mutex); /* where a waiting G is queued; false: nowhere */
int dump_owner(const void *mutex);      /* tid; 0: nobody's, or it cannot be read */
bool dump_signal(int sig);              /* its handler is ours */
void dump_boot(char **envp);            /* at the start of the runtime: GOSSAMER_DUMP_SIGNAL */

/* ---- deadlock.c ---- */

void deadlock_boot(char **envp);        /* GOSSAMER_DEADLOCK */

/* ---- stats.c ---- */

void stats_boot(char **envp);           /* GOSSAMER_STATS */

#endif

/* Static probes for bpftrace, perf and SystemTap: provider gossamer, described in gossamer(7).
 *
 * A probe is a nop in the code and a note in the file that says where it stands and in which registers or
 * memory its arguments are; whoever traces puts a breakpoint there. Give it what is at hand: an argument that has
 * to be computed is computed always. Without <sys/sdt.h> at the build there are none.
 */
#ifndef GOSSAMER_BASE_PROBE_H
#define GOSSAMER_BASE_PROBE_H

#ifdef GOSSAMER_PROBES
#include <sys/sdt.h>
#define probe1(name, a) DTRACE_PROBE1(gossamer, name, a)
#define probe2(name, a, b) DTRACE_PROBE2(gossamer, name, a, b)
#define probe3(name, a, b, c) DTRACE_PROBE3(gossamer, name, a, b, c)
#else
#define probe1(name, a) ((void)0)
#define probe2(name, a, b) ((void)0)
#define probe3(name, a, b, c) ((void)0)
#endif

#endif

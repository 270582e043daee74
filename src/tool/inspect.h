/*
 * Looking into a running process, or a core file, from outside: what ps, stacks,
 * profile and top share.  All that is known of the library's structures comes
 * from its own description, gossamer_layout; see gossamer.h.
 *
 * Functions that return bool have said why not (one line, by complain) when
 * they return false, unless their comment says otherwise.
 */
#ifndef GOSSAMER_INSPECT_H
#define GOSSAMER_INSPECT_H

#include "gossamer.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_TARGET = 1 };       /* the process could not be looked at */

/* ---- table.c: from a number to a number ---- */

struct table {
    struct entry { uint64_t key, value; bool used; } *entries;
    size_t size, n;
};

/* The value of key, 0 at first; valid until the next call. */
uint64_t *table_at(struct table *t, uint64_t key);
const uint64_t *table_find(const struct table *t, uint64_t key);        /* or NULL */
void table_free(struct table *t);
_Noreturn void nomemory(void);
void *xrealloc(void *p, size_t n, size_t size);         /* ends us when there is no memory */
char *xstrdup(const char *s);
FILE *xmemstream(char **text, size_t *size);            /* what is printed to it is *text after xmemclose */
void xmemclose(FILE *f);

/* ---- target.c: the process ---- */

/* One line of /proc/PID/maps, or of a core's list of files. */
struct map {
    uint64_t start, end, offset;
    bool exec;
    char *path;                 /* "" if it has none */
};

/* The mappings of one file that were loaded together. */
struct module {
    uint64_t start, end;        /* end: of its last mapping */
    const char *path;
    bool tried;                 /* the following was looked for */
    uint64_t hdr;               /* address of the .eh_frame_hdr; 0: none */
    uint64_t nfdes;
};

struct core;

struct target {
    int pid;                    /* 0 with a core */
    char comm[64];              /* what it is called */
    struct core *core;
    char what[128];             /* "4711 (mysqld)": for messages */
    struct map *maps;
    size_t nmaps;
    struct module *modules;
    size_t nmodules;
    struct gossamer_layout l;
    int gomaxprocs;
};

bool target_open(struct target *t, const char *pid);
bool target_core(struct target *t, const char *file, const char *exe);
void target_close(struct target *t);
bool target_alive(const struct target *t);              /* says nothing */
char target_state(int pid);                             /* of its first thread, as ps(1) has it; 0: there is none */
bool target_lost(const struct target *t);               /* says that it has ended, or why it cannot be read; false */
size_t target_readsome(const struct target *t, uint64_t addr, void *buf, size_t n); /* bytes; says nothing */
bool target_read(const struct target *t, uint64_t addr, void *buf, size_t n);       /* says nothing */
struct module *target_module(struct target *t, uint64_t addr);                      /* or NULL; says nothing */
struct module *target_library(struct target *t);        /* libgossamer.so; or NULL; says nothing */
bool target_refresh(struct target *t);                  /* reads the mappings again */
int64_t target_clock(const struct target *t);           /* CLOCK_MONOTONIC; a core's own */

/* ---- elfmem.c: an ELF file as it lies in the process's memory ---- */

/* Address of a symbol that the module exports; 0: none. Says nothing. */
uint64_t elfmem_symbol(const struct target *t, const struct module *m, const char *name);
void elfmem_ehframe(const struct target *t, struct module *m);
/* Says so if a core's program is now another file than it was; exe: as the user named it, or NULL. */
void buildid_check(const struct target *t, const char *exe);

/* ---- corefile.c ---- */

struct regs {
    uint64_t rbx, rbp, r12, r13, r14, r15, rip, rsp;
};

bool core_open(struct target *t, const char *file, const char *exe);
void core_close(struct core *c);
size_t core_read(struct core *c, uint64_t addr, void *buf, size_t n);
size_t core_own(struct core *c, uint64_t addr, void *buf, size_t n);    /* without what is read from files */
bool core_regs(const struct core *c, int tid, struct regs *regs);       /* says nothing */

/* What the process died of; all 0 if the core does not say. */
struct death {
    int signal, tid;            /* tid: the kernel thread */
    bool hasaddr;
    uint64_t addr;              /* of the fault */
};

struct death core_death(const struct core *c);

/* ---- snapshot.c: Gs, Ms and Ps as they are now ---- */

struct gsnap {
    uint64_t addr;
    int64_t goid;
    int tid;
    uint32_t status;            /* enum gossamer_status */
    uint8_t reason;
    bool stolen;                /* "running", but asleep in a call nobody announced: sysmon took its P */
    uint64_t waiton, sp, maddr, lockedm, start, joining, stklo, stkhi, runs;
    int64_t since, timer, cpu;  /* ns */
    int64_t at;                 /* when it was read, by target_clock */
    int m, p;                   /* indices; -1: none */
    char name[17];
    /* what it waits for, while it waits */
    uint64_t object;            /* address */
    bool requeued;
    int owner;                  /* tid of the mutex's owner; 0: none */
};

struct msnap {
    uint64_t addr, curg, paddr, oldp;
    int id, tid;
    uint32_t lostp;
    bool idle, dead, spinning, locked;
    struct gossamer_counters count;
};

struct psnap {
    uint64_t addr, maddr;
    int id, ngfree;
    uint32_t status, qlen, ntimers;
};

struct snap {
    int64_t now, boottime;
    struct gsnap *gs;
    struct msnap *ms;
    struct psnap *ps;
    size_t ngs, nms, nps;
    size_t alive, bystatus[GOSSAMER_DEAD + 1];
    int msalive, msidle, runqsize, nmspinning;
    struct gossamer_counters count;
    struct table bytid;         /* a G's tid -> its index + 1 */
};

/* What statename says, as an enum gossamer_status: one whose P was taken is in a system call, ... */
uint32_t snap_status(const struct gsnap *gp);
bool snap_ended(const struct target *t, const struct gsnap *gp);        /* finished, and not joined */

bool snap_take(struct target *t, struct snap *s);
bool snap_counts(const struct target *t, struct snap *s);       /* Ms, Ps and counters only */
void snap_free(struct snap *s);
/* Reads one G again; false if it has gone on since gp was read. Says nothing. */
bool snap_same(const struct target *t, const struct gsnap *gp);
bool snap_g(const struct target *t, uint64_t addr, struct gsnap *gp, uint64_t *next);

/* ---- describe.c: in words ---- */

const char *statename(const struct target *t, const struct gsnap *gp);
const char *duration(int64_t ns, char *buf, size_t size);
int64_t waitedfor(const struct gsnap *gp);      /* ns; 0 if it does not wait */
void describe(const struct target *t, const struct snap *s, const struct gsnap *gp, char *buf, size_t size);
bool statematches(const struct target *t, const struct gsnap *gp, const char *filter);

/* ---- sockets.c ---- */

/* "127.0.0.1:80<->127.0.0.1:4000", a path, "pipe"; "" if unknown. */
void fdname(int pid, int fd, char *buf, size_t size);
void fdforget(void);            /* what was read of the kernel's socket tables */

/* ---- symbol.c: names for addresses; elfutils ---- */

struct place {
    const char *function;       /* or "module+0x12", or the address */
    bool known;                 /* it is a function */
    const char *file;           /* or NULL */
    const char *module;         /* base name, or "" */
    int line;
    uint64_t offset;            /* into the function, or the file's first mapping */
    uint64_t address;
};

bool symbols_open(struct target *t);
void symbols_close(void);
/* The place of an instruction; of a call, if `call` says that addr is behind it. Kept until the end. */
const struct place *symbol_at(uint64_t addr, bool call);

/* ---- unwind.c: stacks; libunwind ---- */

enum { MAXFRAMES = 128 };

struct stack {
    uint64_t pc[MAXFRAMES];
    uint64_t exact[MAXFRAMES / 64];     /* bit i: pc[i] is where it is, not behind a call */
    int n;
    bool cut;                   /* it went on, or could not be followed */
    bool full;                  /* it went on, and was cut because it is that long */
};

bool unwind_open(struct target *t);
void unwind_close(void);
void unwind_stack(struct target *t, const struct regs *regs, uint64_t lo, const void *copy, size_t size,
    struct stack *st);

/* ---- capture.c ---- */

/* The stack of a G, whatever it does; gp is read again where it has gone on. False if it has ended (gp->status
 * says so) or cannot be caught. One that has ended and was not joined has its start function only. Says nothing. */
bool capture(struct target *t, struct gsnap *gp, struct stack *st);
const char *capture_why(void);  /* why the last one that could not be caught could not */
void capture_settle(void);      /* now and then, by who waits: lets go of threads that stopped late */

/* ---- trace.c: stacks in words ---- */

/* The place of frame i. */
const struct place *stack_place(const struct stack *st, int i);
/* Takes off the frames of the runtime: those below the function that the program called, and those that
 * began the G. */
void stack_trim(struct target *t, struct stack *st);
uint64_t stack_hash(const struct stack *st, uint64_t seed);
bool stack_equal(const struct stack *a, const struct stack *b);

/* ---- group.c ---- */

struct group {
    struct stack stack;
    const char *state;
    size_t *members;            /* indices of snap.gs */
    size_t n, room;
    int64_t least, most, waited;        /* ns; waited is the sum */
    bool missed;                /* could not be caught: the stack is empty */
    char why[64];               /* then */
};

struct groups {
    struct group *list;
    size_t n, room;
    struct table byhash;        /* -> index + 1; the next with the same hash is looked for at hash + 1 */
};

struct collect {
    int64_t goid;               /* 0: all */
    bool each;                  /* each G for itself */
    bool raw;                   /* with the frames of the runtime */
};

/* The group of the stack, new if there is none or it is to be a fresh one; state is compared as a pointer. */
struct group *group_of(struct groups *gr, const struct stack *st, const char *state, bool fresh);
void group_add(struct group *g, size_t i, int64_t wait);
bool groups_collect(struct target *t, struct snap *s, const struct collect *how, struct groups *gr);
void groups_sort(struct groups *gr);    /* the largest first; no more group_of */
void groups_free(struct groups *gr);

/* ---- folded.c, pprof.c, flame.c: a profile, written ---- */

struct sample {
    const struct stack *stack;
    const char *state;          /* the innermost frame, in brackets; NULL: none */
    int64_t weight;             /* Gs, or samples */
    int64_t ns;                 /* waited, or computed */
};

struct profile {
    const struct target *t;
    struct sample *samples;
    size_t n;
    bool cpu;
    int64_t begin, duration;    /* CLOCK_REALTIME; ns */
    int64_t period;             /* ns between two samples, with cpu */
};

/* The function's name, or what there is instead; perhaps in buf. */
const char *framename(const struct place *p, char *buf, size_t size);
void folded_write(FILE *f, const struct profile *p);
bool pprof_write(const char *file, const struct profile *p);
void flame_write(FILE *f, const struct profile *p);

/* ---- top.c and topscreen.c ---- */

struct toplook;

/* One look, as text of so many lines; line `head` is the heading of the list. The caller frees it. */
bool top_text(struct toplook *look, char **text, int lines, int *head);
void top_sort(struct toplook *look, char key);          /* 'c' CPU, 'r' runs, 'w' wait */
/* The live screen, until the user ends it; the exit status. */
int topscreen(struct toplook *look, int64_t delay);

/* ---- the sub-commands ---- */

int ps_main(int argc, char **argv);
int stacks_main(int argc, char **argv);
int profile_main(int argc, char **argv);
int top_main(int argc, char **argv);

/* ---- json.c: strings of the process's, harmless ---- */

void json_string(FILE *f, const char *s);       /* quoted */
/* For a terminal: in buf; as much as fits. */
char *printable(const char *s, char *buf, size_t size);
char *xprintable(const char *s);

#endif

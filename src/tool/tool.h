/*
 * The command `gossamer`: what its files share.
 */
#ifndef GOSSAMER_TOOL_H
#define GOSSAMER_TOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    EXIT_OWN = 125,         /* our own error, as with env, nohup, timeout */
    EXIT_NOEXEC = 126,      /* found, but cannot be executed */
    EXIT_NOTFOUND = 127,
};

struct options {
    const char *procs;      /* -p, or NULL */
    const char *stack;      /* -s, or NULL */
    const char *children;   /* --children, or NULL: as the environment says */
    bool require;
    bool quiet;
    char policy[PATH_MAX];      /* "FILE:LINE" of gossamer.conf, or "" */
    bool policyprocs;           /* procs is from there */
};

/* Would the program run on Gs, and if not, why? */
struct verdict {
    bool gs;
    bool missing;           /* an interpreter: execve will say so */
    bool elf;               /* the program itself is ELF, not text */
    bool off;               /* gossamer.conf says so */
    char interp[PATH_MAX];  /* the last #! interpreter, or "" */
    char why[256];          /* "" if gs */
};

/* policy.c: what gossamer.conf says of the program; refuses if it says off. */
void policy(struct options *opt, struct verdict *v, const char *path);

/* run.c */
int run(struct options *opt, char **argv);
int findprogram(const char *name, char *path, size_t size);
void exportoptions(const struct options *opt);
int notrunnable(const char *name, int err);

/* check.c */
int check(struct options *opt, char **argv);
extern const char check_usage[];

/* compare.c */
int compare_main(int argc, char **argv);

/* library.c */
int findlibrary(char *path, size_t size, char *why, size_t whysize);
char *preloadwith(const char *old, const char *lib, bool add);

/* verdict.c */
void judge(struct verdict *v, const char *path);
bool refuse(struct verdict *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* secure.c: false, as above, if ld.so would ignore LD_PRELOAD for the open file. */
bool securecheck(struct verdict *v, int fd);

/* elfcheck.c: false, with v->why set, if the file would not run on Gs. */
bool elfcheck(struct verdict *v, const unsigned char *file, size_t size);
bool elfislibrary(const unsigned char *file, size_t size);

/* script.c: the program that a "#!" line starts; false: v->why says why. */
bool scriptinterp(struct verdict *v, const char *head, size_t n, char *next,
    size_t size);

/* main.c: "gossamer: ..." on stderr. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern void (*beforecomplaint)(void);   /* who has the screen gives it back here */
/* The status for the end: 0, or EXIT_OWN when standard output could not be written. */
int flushed(void);
int print(const char *text);
/* What getopt_long did not like; EXIT_OWN. */
int badusage(const char *command, char **argv, int c);

#endif

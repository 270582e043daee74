/*
 * Which program does a "#!" line start?
 *
 * The kernel takes the first word as the interpreter and all the rest of the
 * line as one argument.  env(1) is no interpreter but finds one: "env X" in
 * PATH, "env -S 'A=1 X args'" after splitting, and it may clear the very
 * environment that carries the preload.
 */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLANK " \t"

/* The next word of *s in buf; false at the end. */
static bool
nextword(const char **s, char *buf, size_t size)
{
    size_t n;

    *s += strspn(*s, BLANK);
    n = strcspn(*s, BLANK);
    if (n == 0 || n >= size)
        return false;
    memcpy(buf, *s, n);
    buf[n] = '\0';
    *s += n;
    return true;
}

/* Without quotes: words of env -S may be quoted, names of programs are not. */
static void
unquote(char *s)
{
    char *to = s;

    for (; *s != '\0'; s++)
        if (*s != '\'' && *s != '"')
            *to++ = *s;
    *to = '\0';
}

/*
 * An option of env: 1, or 2 if its value is the next word; 0 if it is none;
 * -1 if it takes the preload away.
 */
static int
envoption(const char *w, const char *rest)
{
    if (strcmp(w, "-") == 0 || strcmp(w, "--ignore-environment") == 0)
        return -1;
    if (strncmp(w, "--unset=", 8) == 0)
        return strcmp(w + 8, "LD_PRELOAD") == 0 ? -1 : 1;
    if (w[0] != '-')
        return 0;
    if (w[1] == '-')
        return 1;
    for (w++; *w != '\0'; w++) {
        if (*w == 'i')
            return -1;
        if (*w == 'u') {
            const char *name = w[1] != '\0' ? w + 1
                : rest + strspn(rest, BLANK);

            if (strncmp(name, "LD_PRELOAD", 10) == 0)
                return -1;
        }
        if (*w == 'u' || *w == 'C')
            return w[1] != '\0' ? 1 : 2;
    }
    return 1;
}

/* The program among the words of env -S. */
static bool
envsplit(struct verdict *v, const char *arg, char *name, size_t size)
{
    while (nextword(&arg, name, size)) {
        int opt;

        unquote(name);
        opt = envoption(name, arg);
        if (opt < 0)
            return refuse(v, "its #! line lets env clear LD_PRELOAD");
        if (opt == 2)
            nextword(&arg, name, size);
        if (opt > 0)
            continue;
        if (strncmp(name, "LD_PRELOAD=", 11) == 0)
            return refuse(v, "its #! line lets env set LD_PRELOAD");
        if (strchr(name, '=') == NULL)
            return true;
    }
    return refuse(v, "its #! line names no program");
}

/* "-S", "-vS" or "--split-string=": where the string to split begins. */
static const char *
splitstring(struct verdict *v, const char *arg)
{
    const char *s;

    if (strncmp(arg, "--split-string=", 15) == 0)
        return arg + 15;
    if (arg[0] != '-')
        return NULL;
    for (s = arg + 1; *s == 'v' || *s == 'i' || *s == '0'; s++)
        if (*s == 'i')
            refuse(v, "its #! line lets env clear LD_PRELOAD");
    return *s == 'S' ? s + 1 : NULL;
}

static bool
envprogram(struct verdict *v, const char *arg, char *next, size_t size)
{
    char name[PATH_MAX];
    const char *split = splitstring(v, arg);

    if (!v->gs)
        return false;
    if (split != NULL) {
        if (!envsplit(v, split, name, sizeof name))
            return false;
    } else
        /* One argument, blanks and all: env looks for just that name. */
        snprintf(name, sizeof name, "%s", arg);
    if (findprogram(name, next, size) != 0) {
        v->missing = true;
        return refuse(v, "env finds no %.100s", name);
    }
    return true;
}

bool
scriptinterp(struct verdict *v, const char *head, size_t n, char *next,
    size_t size)
{
    char line[260], interp[260], *end;
    const char *s = line, *base;

    if (n >= sizeof line)
        n = sizeof line - 1;
    memcpy(line, head + 2, n - 2);
    line[n - 2] = '\0';
    line[strcspn(line, "\n")] = '\0';
    for (end = line + strlen(line); end > line && strchr(BLANK, end[-1]); )
        *--end = '\0';
    if (!nextword(&s, interp, sizeof interp))
        return refuse(v, "its #! line names no interpreter");
    s += strspn(s, BLANK);
    base = strrchr(interp, '/');
    base = base != NULL ? base + 1 : interp;
    if (strcmp(base, "env") == 0 && *s != '\0')
        return envprogram(v, s, next, size);
    snprintf(next, size, "%s", interp);
    return true;
}

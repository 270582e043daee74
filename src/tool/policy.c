/*
 * gossamer.conf: what the administrator and the user have said about a program.
 *
 * The first line that matches the program counts, the user's file comes before
 * the system's.  Options and the environment are nearer to the command than
 * either, so they win.  A bad line is reported and skipped as a whole: half of
 * what somebody meant may be worse than nothing.
 */
#include "tool.h"

#include "base/env.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define SYSTEM "/etc/gossamer.conf"

struct rule {
    bool off;
    char procs[32], stack[32], children[8];     /* "" : nothing said */
};

static struct rule rule;        /* the one that counts; struct options points into it */

static bool
badline(const char *file, int line, const char *word, const char *what)
{
    complain("%s:%d: '%s' %s; the line is skipped", file, line, word, what);
    return false;
}

static bool
goodprocs(const char *s)
{
    struct procs procs;

    env_procs(&procs, s);
    return procs.from == PROCS_ENV && procs.bad == 0;
}

/* One word behind the name; false if it is no good, after a line that says so. */
static bool
setting(struct rule *r, const char *word, const char *file, int line)
{
    const char *value = strchr(word, '=');
    size_t n = value != NULL ? (size_t)(value++ - word) : strlen(word);
    unsigned long size;

    if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0) {
        r->off = word[1] == 'f';
        return true;
    }
    if (value == NULL || strlen(value) >= sizeof r->stack)
        return badline(file, line, word, "is not a setting");
    if (n == 10 && memcmp(word, "gomaxprocs", n) == 0) {
        if (!goodprocs(value))
            return badline(file, line, value, "is not a number from 1 to 256");
        strcpy(r->procs, value);
        return true;
    }
    if (n == 5 && memcmp(word, "stack", n) == 0) {
        if (env_size(value, &size) != 0 || size < MINSTACK || size > MAXSTACK)
            return badline(file, line, value, "is not a stack size from 16K to 1024G");
        strcpy(r->stack, value);
        return true;
    }
    if (n == 8 && memcmp(word, "children", n) == 0) {
        if (strcmp(value, "keep") != 0 && strcmp(value, "drop") != 0)
            return badline(file, line, value, "is neither keep nor drop");
        strcpy(r->children, value);
        return true;
    }
    return badline(file, line, word, "is not a setting");
}

static bool
matches(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (strchr(pattern, '/') != NULL)
        return fnmatch(pattern, path, FNM_PATHNAME) == 0;
    return fnmatch(pattern, slash != NULL ? slash + 1 : path, 0) == 0;
}

/* A line that is good and matches; all of them are looked at, up to the first that counts. */
static bool
takes(char *text, const char *path, const char *file, int line, struct rule *r)
{
    static const char blank[] = " \t\r\n";
    char *save, *pattern, *word;
    bool any = false;

    text[strcspn(text, "#")] = '\0';
    pattern = strtok_r(text, blank, &save);
    if (pattern == NULL)
        return false;
    memset(r, 0, sizeof *r);
    while ((word = strtok_r(NULL, blank, &save)) != NULL) {
        if (!setting(r, word, file, line))
            return false;
        any = true;
    }
    if (!any)
        return badline(file, line, pattern, "has no setting");
    return matches(pattern, path);
}

/* The number of the line that counts, or 0. */
static int
look(const char *file, const char *path, bool must)
{
    FILE *f = fopen(file, "re");
    char *text = NULL;
    size_t size = 0;
    int line = 0, found = 0;

    if (f == NULL) {
        if (must || (errno != ENOENT && errno != ENOTDIR))
            complain("%s: %s; it is ignored", file, strerror(errno));
        return 0;
    }
    while (found == 0 && getline(&text, &size, f) >= 0)
        if (takes(text, path, file, ++line, &rule))
            found = line;
    if (ferror(f))
        complain("%s: %s; it is ignored", file, strerror(errno));
    free(text);
    fclose(f);
    return found;
}

static bool
userfile(char *file, size_t size)
{
    const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n;

    if (dir != NULL && *dir == '/')
        n = snprintf(file, size, "%s/gossamer.conf", dir);
    else if (home != NULL && *home == '/')
        n = snprintf(file, size, "%s/.config/gossamer.conf", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

static bool
unset(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0';
}

void
policy(struct options *opt, struct verdict *v, const char *path)
{
    const char *own = getenv("GOSSAMER_CONF");
    char file[PATH_MAX];
    int line = 0;

    if (own != NULL) {
        snprintf(file, sizeof file, "%s", own);
        if (*own != '\0')
            line = look(file, path, true);
    } else {
        if (userfile(file, sizeof file))
            line = look(file, path, false);
        if (line == 0) {
            strcpy(file, SYSTEM);
            line = look(file, path, false);
        }
    }
    if (line == 0)
        return;
    snprintf(opt->policy, sizeof opt->policy, "%.4000s:%d", file, line);
    v->off = rule.off;
    if (rule.off)
        refuse(v, "off in %.200s", opt->policy);
    if (opt->procs == NULL && unset("GOMAXPROCS") && rule.procs[0] != '\0') {
        opt->procs = rule.procs;
        opt->policyprocs = true;
    }
    if (opt->stack == NULL && unset("GOSSAMER_STACK") && rule.stack[0] != '\0')
        opt->stack = rule.stack;
    if (opt->children == NULL && unset("GOSSAMER_CHILDREN") && rule.children[0] != '\0')
        opt->children = rule.children;
}

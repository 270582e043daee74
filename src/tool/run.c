/*
 * Become the program, with the library in front of LD_PRELOAD.
 *
 * No process is left in between: pid, terminal, signals and exit status are
 * the program's own.  ld.so says nothing, or nothing useful, where it cannot
 * preload; so the file is judged first, and a program that would not run on
 * Gs is started without the preload and with one line that says why.
 */
#include "tool.h"

#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
canexec(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode) || access(path, X_OK) != 0)
        return EACCES;
    return 0;
}

/*
 * The file that execvp would take: the first in PATH that can be executed; a
 * file that cannot does not end the search, but is remembered.  0 or an errno.
 */
int
findprogram(const char *name, char *path, size_t size)
{
    const char *dirs = getenv("PATH"), *end;
    int err = ENOENT;

    if (*name == '\0')
        return ENOENT;
    if (strlen(name) >= size)
        return ENAMETOOLONG;
    if (strchr(name, '/') != NULL) {
        strcpy(path, name);
        return canexec(path);
    }
    if (dirs == NULL)
        dirs = "/bin:/usr/bin";         /* execvp's, of confstr */
    for (;; dirs = end + 1) {
        int n, e;

        end = strchrnul(dirs, ':');
        /* An empty directory is this one; the name then has no slash. */
        n = snprintf(path, size, "%.*s%s%s", (int)(end - dirs), dirs,
            end > dirs ? "/" : "", name);
        e = n < 0 || (size_t)n >= size ? ENAMETOOLONG : canexec(path);
        if (e == 0)
            return 0;
        if (e == EACCES)
            err = EACCES;
        if (*end == '\0')
            return err;
    }
}

int
notrunnable(const char *name, int err)
{
    complain("%s: %s", name, strerror(err));
    return err == ENOENT || err == ENOTDIR ? EXIT_NOTFOUND : EXIT_NOEXEC;
}

static void
put(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        complain("%s", strerror(errno));
        exit(EXIT_OWN);
    }
}

void
exportoptions(const struct options *opt)
{
    if (opt->procs != NULL)
        put("GOMAXPROCS", opt->procs);
    if (opt->stack != NULL)
        put("GOSSAMER_STACK", opt->stack);
    if (opt->children != NULL)
        put("GOSSAMER_CHILDREN", opt->children);
}

static void
setpreload(const char *lib, bool add)
{
    const char *old = getenv("LD_PRELOAD");
    char *value = preloadwith(old, lib, add);

    if (value == NULL) {
        complain("%s", strerror(ENOMEM));
        exit(EXIT_OWN);
    }
    if (*value != '\0')
        put("LD_PRELOAD", value);
    else if (old != NULL)
        unsetenv("LD_PRELOAD");
    free(value);
}

/* A text without "#!" is the shell's, as with execvp; a broken ELF file is not. */
static int
become(const char *path, char **argv, bool shell)
{
    size_t n = 0;
    char **args;
    int err;

    execv(path, argv);
    err = errno;
    if (err == ENOEXEC && shell) {
        while (argv[n] != NULL)
            n++;
        args = calloc(n + 3, sizeof *args);
        if (args == NULL)
            return ENOMEM;
        args[0] = (char *)_PATH_BSHELL;
        args[1] = (char *)path;
        for (size_t i = 1; i < n; i++)
            args[i + 1] = argv[i];
        execv(_PATH_BSHELL, args);
        err = errno;
        free(args);
    }
    return err;
}

int
run(struct options *opt, char **argv)
{
    char path[PATH_MAX], lib[PATH_MAX] = "", why[256];
    struct verdict v;
    bool interp;
    int err = findprogram(argv[0], path, sizeof path);

    if (err != 0)
        return notrunnable(argv[0], err);
    judge(&v, path);
    if (v.gs)
        policy(opt, &v, path);
    if (v.gs && !findlibrary(lib, sizeof lib, why, sizeof why))
        refuse(&v, "%s", why);
    else if (!v.gs)
        findlibrary(lib, sizeof lib, why, sizeof why);
    interp = *v.interp != '\0' && !v.off;       /* it is the reason */
    if (!v.gs && !v.missing && (opt->require || !opt->quiet))
        complain("%s: %s%s%s%s; %s", argv[0],
            interp ? "interpreter " : "", interp ? v.interp : "",
            interp ? ": " : "", v.why,
            opt->require ? "not run (--require)" : "running on native threads");
    if (!v.gs && !v.missing && opt->require)
        return EXIT_OWN;
    exportoptions(opt);
    setpreload(lib, v.gs);
    err = become(path, argv, !v.elf);
    return notrunnable(argv[0], err);
}

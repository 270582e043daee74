/*
 * Where is libgossamer.so, and how is it put into LD_PRELOAD?
 *
 * A build tree must use its own library, an installed command the installed
 * one, and a tree that was moved after the installation the one beside it.
 * The list is fixed: no environment variable may replace the library.
 */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "libgossamer.so"

/* "" stands for the directory of the running command. */
static const char *const places[][2] = {
    { "", "/" NAME },
    { "", "/.libs/" NAME },
    { PKGLIBDIR, "/" NAME },
    { "", "/../lib/gossamer/" NAME },
    { "", "/../lib/x86_64-linux-gnu/gossamer/" NAME },
    { "", "/../lib64/gossamer/" NAME },
};

static bool
isours(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool ok = false;
    void *p;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            ok = elfislibrary(p, (size_t)st.st_size);
            munmap(p, (size_t)st.st_size);
        }
    }
    close(fd);
    return ok;
}

/* The library's absolute path, or 0 and why there is none. */
int
findlibrary(char *path, size_t size, char *why, size_t whysize)
{
    char self[PATH_MAX], try[PATH_MAX], real[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    self[n > 0 ? n : 0] = '\0';
    if (n > 0)
        *strrchr(self, '/') = '\0';
    snprintf(why, whysize, "%s not found", NAME);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *dir = places[i][0];
        int len;

        if (*dir == '\0' && n <= 0)
            continue;
        len = snprintf(try, sizeof try, "%s%s", *dir != '\0' ? dir : self,
            places[i][1]);
        if (len < 0 || (size_t)len >= sizeof try || access(try, F_OK) != 0)
            continue;
        if (!isours(try)) {
            snprintf(why, whysize, "%s is not a library of this architecture",
                try);
            continue;
        }
        if (strstr(try, "/../") != NULL && realpath(try, real) != NULL)
            strcpy(try, real);
        /* ld.so splits LD_PRELOAD there, and there is no way to quote. */
        if (strpbrk(try, " :") != NULL) {
            snprintf(why, whysize,
                "LD_PRELOAD cannot hold the path %s", try);
            continue;
        }
        len = snprintf(path, size, "%s", try);
        return len >= 0 && (size_t)len < size;
    }
    return 0;
}

/*
 * The value of LD_PRELOAD: `old` without lib, and lib in front if `add`.  It
 * is taken out so that nested commands do not pile it up, and that a program
 * which must not have it does not inherit it.  NULL: no memory.
 */
char *
preloadwith(const char *old, const char *lib, bool add)
{
    size_t liblen = strlen(lib), n = 0;
    char *value;

    if (old == NULL)
        old = "";
    value = malloc(liblen + strlen(old) + 2);
    if (value == NULL)
        return NULL;
    if (add) {
        memcpy(value, lib, liblen);
        n = liblen;
    }
    while (*(old += strspn(old, " :")) != '\0') {
        size_t len = strcspn(old, " :");

        if (liblen == 0 || len != liblen || memcmp(old, lib, len) != 0) {
            if (n > 0)
                value[n++] = ':';
            memcpy(value + n, old, len);
            n += len;
        }
        old += len;
    }
    value[n] = '\0';
    return value;
}

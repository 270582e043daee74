/*
 * What an fd of the process is, in words: the two ends of a socket, the path of
 * a file.  Sockets are looked up by inode in the tables of the process's own
 * network namespace.
 */
#include "inspect.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct table names;      /* inode -> char * */
static bool loaded;

static void
keep(unsigned long inode, const char *text)
{
    uint64_t *v;

    if (inode == 0)
        return;
    v = table_at(&names, inode);
    if (*v == 0)
        *v = (uintptr_t)xstrdup(text);
}

/* As the kernel prints it: words of four bytes in host order, in hexadecimal. */
static void
address(const char *hex, unsigned port, char *buf, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "?";
    uint32_t w[4] = { 0 };
    bool six = strlen(hex) == 32;

    for (size_t i = 0; i < (six ? 4 : 1); i++)
        sscanf(hex + 8 * i, "%8x", &w[i]);
    if (six && w[0] == 0 && w[1] == 0 && w[2] == htonl(0xffff))
        inet_ntop(AF_INET, &w[3], text, sizeof text);
    else
        inet_ntop(six ? AF_INET6 : AF_INET, w, text, sizeof text);
    snprintf(buf, size, six && strchr(text, ':') != NULL ? "[%s]:%u" : "%s:%u", text, port);
}

static void
loadinet(int pid, const char *proto)
{
    char path[64], line[512], lhex[64], rhex[64], text[160], l[64], r[64];
    unsigned lport, rport, state;
    unsigned long inode;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/net/%s", pid, proto);
    if ((f = fopen(path, "re")) == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, " %*d: %40[0-9A-F]:%x %40[0-9A-F]:%x %x %*s %*s %*s %*s %*s %lu", lhex, &lport, rhex,
                &rport, &state, &inode) != 6)
            continue;
        address(lhex, lport, l, sizeof l);
        address(rhex, rport, r, sizeof r);
        if (proto[0] == 't' && state == 10)
            snprintf(text, sizeof text, "%s listening", l);
        else if (rport == 0)
            snprintf(text, sizeof text, "%.3s %s", proto, l);
        else
            snprintf(text, sizeof text, "%s<->%s", l, r);
        keep(inode, text);
    }
    fclose(f);
}

static void
loadunix(int pid)
{
    char path[64], line[512], name[200], text[220];
    unsigned long inode;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/net/unix", pid);
    if ((f = fopen(path, "re")) == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL) {
        name[0] = '\0';
        if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %lu %199s", &inode, name) < 1)
            continue;
        snprintf(text, sizeof text, name[0] != '\0' ? "unix %s" : "unix socket%s", name);
        keep(inode, text);
    }
    fclose(f);
}

void
fdforget(void)
{
    for (size_t i = 0; i < names.size; i++)
        if (names.entries[i].used)
            free((void *)names.entries[i].value);
    table_free(&names);
    loaded = false;
}

void
fdname(int pid, int fd, char *buf, size_t size)
{
    static const char *const protos[] = { "tcp", "tcp6", "udp", "udp6" };
    char path[64], link[PATH_MAX];
    unsigned long inode;
    const uint64_t *v;
    ssize_t n;

    buf[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    if (pid == 0 || (n = readlink(path, link, sizeof link - 1)) < 0)
        return;
    link[n] = '\0';
    if (sscanf(link, "socket:[%lu]", &inode) != 1) {
        snprintf(buf, size, "%s", strncmp(link, "anon_inode:", 11) == 0 ? link + 11 : link);
        return;
    }
    if (!loaded) {
        loaded = true;
        for (size_t i = 0; i < sizeof protos / sizeof *protos; i++)
            loadinet(pid, protos[i]);
        loadunix(pid);
    }
    v = table_find(&names, inode);
    snprintf(buf, size, "%s", v != NULL ? (const char *)*v : link);
}

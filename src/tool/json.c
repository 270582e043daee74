/*
 * Strings that the process made up, for readers.  JSON: quoted; what is not UTF-8
 * (thread names are bytes) becomes U+FFFD.  Text: what a terminal might obey, and what is
 * not UTF-8, as \xNN.
 */
#include "inspect.h"

#include <string.h>

/* Length of the UTF-8 sequence at s; 0: it is none. */
static int
sequence(const unsigned char *s)
{
    int n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;

    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

void
json_string(FILE *f, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    putc('"', f);
    while (*p != '\0') {
        int n = sequence(p);

        if (n == 0) {
            fputs("\\ufffd", f);
            p++;
        } else if (*p == '"' || *p == '\\') {
            fprintf(f, "\\%c", *p++);
        } else if (*p < 0x20) {
            fprintf(f, "\\u%04x", *p++);
        } else {
            fwrite(p, 1, (size_t)n, f);
            p += n;
        }
    }
    putc('"', f);
}

char *
printable(const char *s, char *buf, size_t size)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t at = 0;

    while (*p != '\0' && at + 5 <= size) {
        int n = sequence(p);
        bool control = *p < 0x20 || *p == 0x7f || (*p == 0xc2 && n == 2 && p[1] < 0xa0);

        if (n == 0 || control) {
            snprintf(buf + at, size - at, "\\x%02x", *p++);
            at += 4;
        } else {
            memcpy(buf + at, p, (size_t)n);
            at += (size_t)n;
            p += n;
        }
    }
    buf[at] = '\0';
    return buf;
}

char *
xprintable(const char *s)
{
    size_t size = 4 * strlen(s) + 5;

    return printable(s, xrealloc(NULL, size, 1), size);
}

/* Messages of the runtime: formatted on the stack and written by one system call, so that they work
 * with any lock held, on any stack and in a signal handler. */
#include "base.h"
#include <stdarg.h>
#include <string.h>

struct out {
    char *at, *end;
};

static void
putch(struct out *o, char c)
{
    if (o->at < o->end)
        *o->at++ = c;
}

static void
putnum(struct out *o, uint64_t v, unsigned base)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = "0123456789abcdef"[v % base];
    while ((v /= base) != 0);
    while (n > 0)
        putch(o, digits[--n]);
}

static void
vformat(struct out *o, const char *fmt, va_list ap)
{
    for (; *fmt; fmt++) {
        int64_t v;

        if (*fmt != '%') {
            putch(o, *fmt);
            continue;
        }
        switch (*++fmt) {
        case 's':
            for (const char *s = va_arg(ap, const char *); *s; s++)
                putch(o, *s);
            break;
        case 'd':
        case 'l':
            v = *fmt == 'd' ? va_arg(ap, int) : va_arg(ap, int64_t);
            if (v < 0)
                putch(o, '-');
            putnum(o, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
            break;
        case 'x':
            putnum(o, va_arg(ap, uint64_t), 16);
            break;
        default:
            putch(o, *fmt);
        }
    }
}

size_t
format(char *buf, size_t size, const char *fmt, ...)
{
    struct out o = { buf, buf + size };
    va_list ap;

    va_start(ap, fmt);
    vformat(&o, fmt, ap);
    va_end(ap);
    return (size_t)(o.at - buf);
}

void
print(const char *fmt, ...)
{
    char buf[512];
    struct out o = { buf, buf + sizeof buf };
    va_list ap;

    va_start(ap, fmt);
    vformat(&o, fmt, ap);
    va_end(ap);
    sys3(SYS_write, 2, A(buf), o.at - buf);
}

_Noreturn void
throw(const char *what)
{
    static const uint64_t dfl[4];       /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */
    uint64_t abrt = UINT64_C(1) << (SIGABRT - 1);

    print("gossamer: fatal: %s\n", what);
    sys4(SYS_rt_sigaction, SIGABRT, A(dfl), 0, 8);
    sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, A(&abrt), 0, 8);
    for (;;) {
        sys3(SYS_tgkill, sys3(SYS_getpid, 0, 0, 0), sys3(SYS_gettid, 0, 0, 0), SIGABRT);
        __builtin_trap();
    }
}

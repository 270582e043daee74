/*
 * Stacks, by libunwind's remote accessors: from registers and memory that lie
 * elsewhere.  The unwind tables are found in the process's own memory
 * (.eh_frame_hdr), so they are those of the code that runs, whatever the disk
 * has.  libunwind is linked into the command only: in the program its
 * _Unwind_* functions would stand before libgcc's.
 *
 * The stack itself is a copy, made while the G stood still; tables are kept by
 * the page, a hundred thousand stacks go through the same few.
 */
#include "inspect.h"
#include "tool.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

/* Exported by libunwind for its own ptrace library and used by perf, but in no header. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
    int need_unwind_info, void *arg);

enum { PAGE = 4096 };

static struct {
    struct target *t;
    const struct regs *regs;
    uint64_t lo;                /* the copy of the stack: [lo, lo + size) */
    const unsigned char *copy;
    size_t size;
} now;                          /* what is being unwound */

static unw_addr_space_t space;
static struct table pages;      /* page number -> unsigned char *, 1 if it cannot be read */

static bool
readcached(uint64_t addr, void *buf)
{
    uint64_t *v = table_at(&pages, addr / PAGE);

    if (*v == 0) {
        unsigned char *page = xrealloc(NULL, 1, PAGE);

        *v = 1;
        if (target_read(now.t, addr & -(uint64_t)PAGE, page, PAGE))
            *v = (uintptr_t)page;
        else
            free(page);
    }
    if (*v == 1)
        return false;
    memcpy(buf, (const unsigned char *)*v + addr % PAGE, 8);
    return true;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write, void *arg)
{
    bool ok;

    (void)as;
    (void)arg;
    if (write)
        return -UNW_EINVAL;
    if (addr >= now.lo && addr - now.lo < now.size && now.size - (addr - now.lo) >= 8) {
        memcpy(val, now.copy + (addr - now.lo), 8);
        return 0;
    }
    if (addr % PAGE <= PAGE - 8 && target_module(now.t, addr) != NULL)
        ok = readcached(addr, val);
    else
        ok = target_read(now.t, addr, val, 8);
    return ok ? 0 : -UNW_EINVAL;
}

static int
access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write, void *arg)
{
    (void)as;
    (void)arg;
    if (write)
        return -UNW_EREADONLYREG;
    switch (reg) {
    case UNW_X86_64_RBX: *val = now.regs->rbx; break;
    case UNW_X86_64_RBP: *val = now.regs->rbp; break;
    case UNW_X86_64_R12: *val = now.regs->r12; break;
    case UNW_X86_64_R13: *val = now.regs->r13; break;
    case UNW_X86_64_R14: *val = now.regs->r14; break;
    case UNW_X86_64_R15: *val = now.regs->r15; break;
    case UNW_X86_64_RSP: *val = now.regs->rsp; break;
    case UNW_X86_64_RIP: *val = now.regs->rip; break;
    default:
        *val = 0;               /* the caller-saved ones: nothing above depends on them */
        break;
    }
    return 0;
}

static int
access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write, void *arg)
{
    (void)as;
    (void)reg;
    (void)val;
    (void)write;
    (void)arg;
    return -UNW_EBADREG;
}

static int
find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
    struct module *m = target_module(now.t, ip);
    unw_dyn_info_t di = { 0 };

    if (m == NULL)
        return -UNW_ENOINFO;
    if (!m->tried)
        elfmem_ehframe(now.t, m);
    if (m->hdr == 0)
        return -UNW_ENOINFO;
    di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    di.start_ip = m->start;
    di.end_ip = m->end;
    di.u.rti.segbase = m->hdr;
    di.u.rti.table_data = m->hdr + 12;  /* behind the header and the count */
    di.u.rti.table_len = m->nfdes * 8 / sizeof(unw_word_t);
    return search_unwind_table(as, ip, &di, pi, need, arg);
}

static void
put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
    (void)as;
    (void)pi;
    (void)arg;
}

static int
no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
    (void)as;
    (void)addr;
    (void)arg;
    return -UNW_ENOINFO;
}

static int
no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
    (void)as;
    (void)c;
    (void)arg;
    return -UNW_EINVAL;
}

static int
no_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t size, unw_word_t *off, void *arg)
{
    (void)as;
    (void)addr;
    (void)buf;
    (void)size;
    (void)off;
    (void)arg;
    return -UNW_ENOINFO;        /* names are symbol.c's */
}

bool
unwind_open(struct target *t)
{
    static unw_accessors_t accessors = {
        .find_proc_info = find_proc_info, .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = no_dyn_info, .access_mem = access_mem, .access_reg = access_reg,
        .access_fpreg = access_fpreg, .resume = no_resume, .get_proc_name = no_name,
    };

    now.t = t;
    space = unw_create_addr_space(&accessors, 0);
    if (space == NULL) {
        complain("libunwind: no memory");
        return false;
    }
    unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
    return true;
}

void
unwind_close(void)
{
    for (size_t i = 0; i < pages.size; i++)
        if (pages.entries[i].used && pages.entries[i].value > 1)
            free((void *)pages.entries[i].value);
    table_free(&pages);
    if (space != NULL)
        unw_destroy_addr_space(space);
    space = NULL;
}

void
unwind_stack(struct target *t, const struct regs *regs, uint64_t lo, const void *copy, size_t size, struct stack *st)
{
    unw_cursor_t cursor;
    bool exact = st->n == 0 && st->exact[0] != 0;       /* the caller's word on the first */
    int r;

    now.t = t;
    now.regs = regs;
    now.lo = lo;
    now.copy = copy;
    now.size = size;
    *st = (struct stack){ .n = 0 };
    r = unw_init_remote(&cursor, space, NULL);
    while (r >= 0) {
        unw_word_t ip;

        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 || ip == 0)
            return;
        if (st->n == MAXFRAMES) {
            st->full = true;
            break;
        }
        if (unw_is_signal_frame(&cursor) > 0)
            exact = true;
        if (exact)
            st->exact[st->n / 64] |= UINT64_C(1) << st->n % 64;
        st->pc[st->n++] = ip;
        exact = unw_is_signal_frame(&cursor) > 0;
        r = unw_step(&cursor);
        if (r == 0)
            return;
    }
    st->cut = true;
}

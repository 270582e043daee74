/*
 * uselocale is per thread and is kept across blocking calls; a new thread has the global locale; ctype and
 * conversions follow the thread's locale.  POSIX uselocale.
 */
#include "conform.h"
#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <sched.h>
#include <wchar.h>

enum { N = 8 };

static locale_t utf8, c;
static int wrong;

static void *
worker(void *arg)
{
    int odd = (int)(intptr_t)arg % 2, i;
    locale_t mine = odd ? utf8 : c;

    CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
    CHECK(isalpha('a') && !isalpha('1') && toupper('q') == 'Q');
    uselocale(mine);
    for (i = 0; i < 20; i++) {
        wchar_t w;
        mbstate_t st;
        size_t n;

        if (i % 2)
            sched_yield();
        else
            msleep(1);
        memset(&st, 0, sizeof st);
        n = mbrtowc(&w, "\303\251", 2, &st);
        if (odd ? n != 2 || w != 0xe9 : n == 2)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        if (uselocale((locale_t)0) != mine || strcmp(nl_langinfo(CODESET), odd ? "UTF-8" : "ANSI_X3.4-1968") != 0)
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        CHECK(isalpha('z') && isspace(' '));
    }
    return NULL;
}

static void *
fresh(void *arg)
{
    (void)arg;
    return uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? (void *)"global" : (void *)"another";
}

int
main(void)
{
    pthread_t t[N];
    int i;

    c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        SKIP("no locale C.UTF-8");
    for (i = 0; i < N; i++)
        t[i] = spawn(worker, (void *)(intptr_t)i);
    for (i = 0; i < N; i++)
        join(t[i]);
    printf("wrong %d\n", wrong);
    printf("thread after those: %s locale\n", (char *)join(spawn(fresh, NULL)));
    uselocale(utf8);
    printf("thread of a main with its own: %s locale\n", (char *)join(spawn(fresh, NULL)));
    printf("main's: %s\n", uselocale((locale_t)0) == utf8 ? "its own" : "another");
    return conform_status();
}

/* Formatting without stdio, and throw. */
#define _GNU_SOURCE 1
#include "unit.h"

#include <limits.h>
#include <stdio.h>

#define expect(want, ...) \
    do { \
        char buf[128]; \
        size_t len = format(buf, sizeof buf - 1, __VA_ARGS__); \
        buf[len] = '\0'; \
        cr_expect_str_eq(buf, want); \
    } while (0)

Test(format, conversions)
{
    expect("", "");
    expect("plain", "plain");
    expect("a b", "%s %s", "a", "b");
    expect("", "%s", "");
    expect("0 7 -7", "%d %d %d", 0, 7, -7);
    expect("2147483647 -2147483648", "%d %d", INT_MAX, INT_MIN);
    expect("9223372036854775807", "%l", INT64_MAX);
    expect("-9223372036854775808", "%l", INT64_MIN);
    expect("0 ff ffffffffffffffff", "%x %x %x", (uint64_t)0, (uint64_t)255, UINT64_MAX);
    expect("100%", "%d%%", 100);
    expect("<1>", "<%d>", 1);
}

Test(format, stops_at_the_end)
{
    char buf[8] = "xxxxxxx";

    cr_expect_eq(format(buf, 4, "%s%d", "ab", 12345), 4);
    cr_expect_eq(memcmp(buf, "ab12xxx", 7), 0);
    cr_expect_eq(format(buf, 0, "abc"), 0);
    cr_expect_eq(buf[0], 'a');
}

Test(print, one_line)
{
    char got[64] = "";
    int fd[2];

    cr_assert_eq(pipe(fd), 0);
    fflush(stderr);
    dup2(fd[1], 2);
    print("gossamer: %s=%d\n", "x", 42);
    cr_expect_eq(read(fd[0], got, sizeof got - 1), 15);
    cr_expect_str_eq(got, "gossamer: x=42\n");
}

Test(print, long_lines_are_cut)
{
    char text[1000], got[1000];
    int fd[2];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(pipe(fd), 0);
    dup2(fd[1], 2);
    print("%s", text);
    cr_expect_eq(read(fd[0], got, sizeof got), 512);
}

Test(print, throw, .signal = SIGABRT)
{
    signal(SIGABRT, SIG_IGN);
    dup2(STDOUT_FILENO, 2);
    throw("as the test wants");
}

/*
 * GOMAXPROCS and the cgroup quota.  The cgroup trees are made in a temporary
 * directory; a mountinfo of our own says that they are mounted there.
 */
#include "base/env.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tmp[PATH_MAX / 4];

static void
setup(void)
{
    const char *dir = getenv("TMPDIR");

    snprintf(tmp, sizeof tmp, "%s/gossamer-env-XXXXXX", dir != NULL ? dir : "/tmp");
    cr_assert_not_null(mkdtemp(tmp));
}

static void
teardown(void)
{
    char cmd[PATH_MAX];

    snprintf(cmd, sizeof cmd, "rm -rf '%s'", tmp);
    cr_assert_eq(system(cmd), 0);
}

TestSuite(cgroup, .init = setup, .fini = teardown);

/* A file below tmp, with its directories; %s in the text stands for tmp. */
static void
put(const char *name, const char *fmt)
{
    char path[PATH_MAX / 2];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", tmp, name);
    for (char *p = path + strlen(tmp) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
    cr_assert_not_null(f = fopen(path, "w"));
    for (; *fmt != '\0'; fmt++)
        if (*fmt == '%')
            fputs(tmp, f);
        else
            fputc(*fmt, f);
    fclose(f);
}

static int
limit(void)
{
    char cgroup[PATH_MAX / 2], mountinfo[PATH_MAX / 2];

    snprintf(cgroup, sizeof cgroup, "%s/cgroup", tmp);
    snprintf(mountinfo, sizeof mountinfo, "%s/mountinfo", tmp);
    return env_cgroup_limit(cgroup, mountinfo);
}

static void
v2(const char *path)
{
    char line[256];

    snprintf(line, sizeof line, "0::%s\n", path);
    put("cgroup", line);
    put("mountinfo",
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "30 23 0:26 / %/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
}

static void
v1(const char *path)
{
    char line[256];

    snprintf(line, sizeof line,
        "12:cpuset:/\n4:cpu,cpuacct:%s\n1:name=systemd:/other\n0::/\n", path);
    put("cgroup", line);
    put("mountinfo",
        "33 32 0:29 / %/cpuset rw - cgroup cgroup rw,cpuset\n"
        "34 32 0:30 / %/v1 rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n");
}

Test(cgroup, v2_rounds_up)
{
    v2("/app");
    put("v2/app/cpu.max", "250000 100000\n");
    cr_expect_eq(limit(), 3);
    put("v2/app/cpu.max", "200000 100000\n");
    cr_expect_eq(limit(), 2);
    put("v2/app/cpu.max", "25000 100000\n");
    cr_expect_eq(limit(), 1);
    put("v2/app/cpu.max", "1000 1000000\n");
    cr_expect_eq(limit(), 1);
}

Test(cgroup, v2_max_is_no_limit)
{
    v2("/app");
    put("v2/app/cpu.max", "max 100000\n");
    cr_expect_eq(limit(), 0);
}

Test(cgroup, v2_ancestor_is_lower)
{
    v2("/pod/app/x");
    put("v2/pod/app/x/cpu.max", "max 100000\n");
    put("v2/pod/app/cpu.max", "800000 100000\n");
    put("v2/pod/cpu.max", "400000 100000\n");
    cr_expect_eq(limit(), 4);
    put("v2/cpu.max", "150000 100000\n");       /* the root of a container */
    cr_expect_eq(limit(), 2);
}

Test(cgroup, v2_leaf_is_lower)
{
    v2("/pod/app");
    put("v2/pod/app/cpu.max", "100000 100000\n");
    put("v2/pod/cpu.max", "400000 100000\n");
    cr_expect_eq(limit(), 1);
}

Test(cgroup, v2_root_only)
{
    v2("/");
    cr_expect_eq(limit(), 0);
    put("v2/cpu.max", "300000 100000\n");
    cr_expect_eq(limit(), 3);
}

Test(cgroup, v2_mounted_part)
{
    put("cgroup", "0::/docker/abc/sub\n");
    put("mountinfo", "30 23 0:26 /docker/abc %/v2 ro - cgroup2 cgroup rw\n");
    put("v2/sub/cpu.max", "500000 100000\n");
    cr_expect_eq(limit(), 5);
    put("v2/cpu.max", "200000 100000\n");
    cr_expect_eq(limit(), 2);
}

Test(cgroup, v2_outside_of_namespace)
{
    v2("/../../elsewhere");
    put("v2/cpu.max", "200000 100000\n");
    cr_expect_eq(limit(), 2);
}

Test(cgroup, mount_point_with_blank)
{
    put("cgroup", "0::/a\n");
    put("mountinfo", "30 23 0:26 / %/v\\0402 ro - cgroup2 cgroup rw\n");
    put("v 2/a/cpu.max", "200000 100000\n");
    cr_expect_eq(limit(), 2);
}

Test(cgroup, v1_quota)
{
    v1("/app");
    put("v1/app/cpu.cfs_quota_us", "250000\n");
    put("v1/app/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(limit(), 3);
    put("v1/app/cpu.cfs_quota_us", "-1\n");
    cr_expect_eq(limit(), 0);
}

Test(cgroup, v1_ancestor_is_lower)
{
    v1("/pod/app");
    put("v1/pod/app/cpu.cfs_quota_us", "-1\n");
    put("v1/pod/app/cpu.cfs_period_us", "100000\n");
    put("v1/pod/cpu.cfs_quota_us", "25000\n");
    put("v1/pod/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(limit(), 1);
}

Test(cgroup, hybrid_takes_the_lower)
{
    put("cgroup", "4:cpu:/a\n0::/b\n");
    put("mountinfo",
        "34 32 0:30 / %/v1 rw - cgroup cgroup rw,cpu\n"
        "30 23 0:26 / %/v2 rw - cgroup2 cgroup2 rw\n");
    put("v1/a/cpu.cfs_quota_us", "600000\n");
    put("v1/a/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(limit(), 6);
    put("v2/b/cpu.max", "200000 100000\n");
    cr_expect_eq(limit(), 2);
}

Test(cgroup, nonsense_is_no_limit)
{
    static const char *const texts[] = {
        "", "\n", "max", "0 100000\n", "100000\n", "100000 0\n", "x y\n",
        "99999999999999999999999 100000\n", "-5 100000\n",
    };

    cr_expect_eq(limit(), 0, "no files at all");
    v2("/app");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put("v2/app/cpu.max", texts[i]);
        cr_expect_eq(limit(), 0, "cpu.max: %s", texts[i]);
    }
    put("mountinfo", "- - -\n\n1 2 3\n30 23 0:26 / x - cgroup2\n");
    cr_expect_eq(limit(), 0);
    put("cgroup", "0\n::\n:\n0::relative\n");
    cr_expect_eq(limit(), 0);
}

Test(cgroup, long_lines_are_skipped)
{
    char line[9000], text[9200];

    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    snprintf(text, sizeof text, "29 1 0:9 / /o rw - overlay %s rw\n", line);
    v2("/app");
    put("v2/app/cpu.max", "200000 100000\n");
    strcat(text, "30 23 0:26 / %/v2 rw - cgroup2 cgroup2 rw");   /* no newline */
    put("mountinfo", text);
    cr_expect_eq(limit(), 2);
}

Test(procs, gomaxprocs)
{
    static const struct {
        const char *value;
        int n, bad;
    } t[] = {
        { "1", 1, 0 }, { "7", 7, 0 }, { "256", 256, 0 }, { "007", 7, 0 },
        { "257", 256, 2 }, { "300", 256, 2 }, { "99999999999999999999", 256, 2 },
    };
    struct procs p;

    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        env_procs(&p, t[i].value);
        cr_expect_eq(p.n, t[i].n, "%s gives %d", t[i].value, p.n);
        cr_expect_eq(p.bad, t[i].bad, "%s", t[i].value);
        cr_expect_eq(p.from, PROCS_ENV);
    }
}

Test(procs, nonsense)
{
    static const char *const t[] = { "0", "-1", "4x", " 4", "4 ", "+4", "two", "0x4" };
    struct procs p, dflt;

    env_procs(&dflt, NULL);
    cr_expect_eq(dflt.bad, 0);
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        env_procs(&p, t[i]);
        cr_expect_eq(p.bad, 1, "'%s'", t[i]);
        cr_expect_eq(p.n, dflt.n);
        cr_expect_neq(p.from, PROCS_ENV);
    }
    env_procs(&p, "");
    cr_expect_eq(p.bad, 0, "empty is unset");
}

Test(procs, affinity)
{
    cpu_set_t all, one;
    struct procs p;

    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    env_procs(&p, NULL);
    cr_expect_eq(p.ncpu, CPU_COUNT(&all));
    cr_expect(p.n >= 1 && p.n <= p.ncpu);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    env_procs(&p, NULL);
    cr_expect_eq(p.ncpu, 1);
    cr_expect_eq(p.n, 1);
    cr_expect_eq(p.from, PROCS_AFFINITY);
}

Test(env, get)
{
    char *envp[] = { (char *)"AB=1", (char *)"A=2", (char *)"E=", (char *)"noequals", NULL };

    cr_expect_str_eq(env_get(envp, "A"), "2");
    cr_expect_str_eq(env_get(envp, "AB"), "1");
    cr_expect_str_eq(env_get(envp, "E"), "");
    cr_expect_null(env_get(envp, "noequals"));
    cr_expect_null(env_get(envp, "B"));
    cr_expect_null(env_get(NULL, "B"));
}

Test(env, size)
{
    static const struct {
        const char *s;
        unsigned long n;
    } good[] = {
        { "65536", 65536 }, { "256K", 256 << 10 }, { "256k", 256 << 10 },
        { "1M", 1 << 20 }, { "8MiB", 8 << 20 }, { "8MB", 8 << 20 },
        { "2G", 2UL << 30 }, { "0", 0 }, { "512B", 512 },
    };
    static const char *const bad[] = {
        "", "K", "-1", "1T", "1 M", "1.5M", "8Mi", "8MBx", "x",
        "99999999999999999999", "9223372036854775807K",
    };
    unsigned long n;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect_eq(env_size(good[i].s, &n), 0, "%s", good[i].s);
        cr_expect_eq(n, good[i].n, "%s gives %lu", good[i].s, n);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_eq(env_size(bad[i], &n), -EINVAL, "%s", bad[i]);
    cr_expect_eq(env_size(NULL, &n), -EINVAL);
}

Test(env, godebug)
{
    cr_expect_eq(env_godebug("schedtrace=1000,scheddetail=1", "schedtrace", 0), 1000);
    cr_expect_eq(env_godebug("schedtrace=1000,scheddetail=1", "scheddetail", 0), 1);
    cr_expect_eq(env_godebug("a=1,a=2", "a", 0), 2, "the last one counts");
    cr_expect_eq(env_godebug("a=-3", "a", 0), -3);
    cr_expect_eq(env_godebug("a=1,a=x", "a", 0), 1, "nonsense is passed over");
    cr_expect_eq(env_godebug("xa=1,ab=2", "a", 7), 7);
    cr_expect_eq(env_godebug("", "a", 7), 7);
    cr_expect_eq(env_godebug(NULL, "a", 7), 7);
    cr_expect_eq(env_godebug(",,a=4,", "a", 7), 4);
}

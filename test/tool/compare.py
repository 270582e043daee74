#!/usr/bin/env python3
"""gossamer compare, and the counters that GOSSAMER_STATS prints."""

import json
import os
import re
import subprocess
import sys
import tempfile

import tooltest
from tooltest import GOSSAMER, LIMIT, check, good, tool

COUNTERS = ["pid", "gomaxprocs", "blocks", "locked", "msmade", "msended", "switches", "steals", "handoffs",
            "unannounced", "preempts", "preempted", "deferred", "pollwakes", "rescued", "scavenged",
            "lock_scheduling", "lock_namespace", "lock_credentials", "lock_prctl", "lock_syscall", "lock_timer",
            "lock_trace", "lock_mutex"]


def program(name):
    return os.path.join(tooltest.tmp, name)


def run(cmd, **env):
    return subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT,
                          text=True, env=dict(os.environ, **env), check=False)


def counters(text):
    lines = text.splitlines()
    found = [re.fullmatch(r"gossamer: stats: (\w+) (\d+)", line) for line in lines]
    check(all(found), text)
    return [(m.group(1), int(m.group(2))) for m in found]


def test_stats():
    r = run([GOSSAMER, "-p", "3", program("stuck"), "timer"], GOSSAMER_STATS="1")
    check(r.returncode == 0 and r.stdout == "ready\nover\n", "%s" % r)
    found = counters(r.stderr)
    check([name for name, _ in found] == COUNTERS, "%s" % found)
    n = dict(found)
    check(n["gomaxprocs"] == 3 and n["blocks"] == 3 and n["switches"] >= 4 and n["locked"] == 0 and n["msmade"] >= 1,
          "%s" % found)


def test_stats_file():
    with tempfile.TemporaryDirectory() as d:
        name = os.path.join(d, "stats")
        for n in (1, 2):
            r = run([GOSSAMER, program("stuck"), "timer"], GOSSAMER_STATS=name)
            check(r.returncode == 0 and r.stderr == "", "%s" % r)
            with open(name, encoding="utf-8") as f:
                check(len(counters(f.read())) == n * len(COUNTERS), "it is not appended")


def test_stats_none():
    for cmd, value in (([program("stuck"), "timer"], "0"), ([program("stuck"), "timer"], ""), (["/bin/true"], "1")):
        r = run([GOSSAMER] + cmd, GOSSAMER_STATS=value)
        check(r.returncode == 0 and r.stderr == "", "%s %s: %s" % (cmd, value, r))
    r = run([GOSSAMER, program("stuck"), "timer"], GOSSAMER_STATS="yes")
    check(r.returncode == 0 and r.stderr == "gossamer: GOSSAMER_STATS=yes is neither 1 nor a path; ignored\n", "%s" % r)


def test_compare_text():
    text = good("compare", "-n", 3, "--", program("stuck"), "timer")
    check(re.fullmatch(r" +native +gossamer +ratio   \(medians of 3\)\n"
                       r"wall +[\d.]+ +[\d.]+ +[\d.]+   ms\nCPU +[\d.]+ +[\d.]+ +[\d.]+   ms\n"
                       r"peak memory +\d+ +\d+ +[\d.]+   KB\ncontext switches +\d+ +\d+ +[\d.]+   \n"
                       r"verdict: (helps|parity|hurts) \(.+\)\n", text), text)


def test_compare_json():
    j = json.loads(good("compare", "--runs", "2", "--json", program("stuck"), "timer"))
    check(j["runs"] == 2 and j["native"]["status"] == j["gossamer"]["status"] == 0, "%s" % j)
    # it waits for a second, natively and on Gs alike
    check(j["native"]["wall_ms"] >= 1000 and j["gossamer"]["wall_ms"] >= 1000, "%s" % j)
    check(j["counters"]["blocks"] == 3 and j["counters"]["switches"] >= 4, "the counters are of one run: %s" % j)
    check(j["native"]["memory_kb"] > 100 and j["verdict"] in ("helps", "parity", "hurts"), "%s" % j)


def test_compare_no_threads():
    text = good("compare", "-n", 1, "/bin/true")
    check(re.search(r"verdict: \w+ \(the reason is not known: it makes no thread, or does not end by exit\(3\)\)\n", text), text)


def test_compare_runs_both_ways():
    with tempfile.TemporaryDirectory() as d:
        # one warm-up, then each kind in turn
        script = 'case $LD_PRELOAD in *libgossamer.so*) echo g;; *) echo n;; esac >>"$1"; echo out; read -r x; exit 0'
        text = good("compare", "-n", 3, "--", "sh", "-c", script, "sh", os.path.join(d, "log"))
        check("out" not in text, text)
        with open(os.path.join(d, "log"), encoding="utf-8") as f:
            check(f.read().split() == list("nngngng"), "order")


def test_compare_differs():
    r = tool("compare", "-n", "1", "sh", "-c", 'case $LD_PRELOAD in *libgossamer.so*) exit 3;; esac')
    check(r.returncode == 1 and "verdict: differs (status 0 natively, status 3 on Gs)\n" in r.stdout, "%s" % r)
    r = tool("compare", "-n", "1", "sh", "-c", "exit 3")
    check(r.returncode == 0 and "differs" not in r.stdout, "%s" % r)
    both = "gossamer: compare: the command fails both ways (status 3): what is compared may be its beginning only\n"
    check(r.stderr == both, r.stderr)
    r = tool("compare", "-n", "1", "--json", "sh", "-c", "exit 3")
    j = json.loads(r.stdout)
    check(r.stderr == both and j["native"]["status"] == j["gossamer"]["status"] == 3, "%s" % r)
    r = tool("compare", "-n", "1", "--json", "sh", "-c", 'case $LD_PRELOAD in *libgossamer.so*) kill -9 $$;; esac')
    j = json.loads(r.stdout)
    check(r.returncode == 1 and r.stderr == "" and j["verdict"] == "differs" and
          j["reason"] == "status 0 natively, signal 9 on Gs" and (j["gossamer"]["status"], j["gossamer"]["signal"]) == (137, 9),
          "%s" % r)


def test_compare_refuses():
    for status, want, *args in (
            (125, "compare: no program given (try gossamer compare --help)"),
            (125, "compare: -n: '0' is not a number from 1 to 1000", "-n", "0", "true"),
            (125, "compare: -n: 'x' is not a number from 1 to 1000", "-n", "x", "true"),
            (125, "compare: unknown option --nonsense (try gossamer compare --help)", "--nonsense"),
            (125, "compare: /sbin/ldconfig: statically linked; there is nothing to compare", "/sbin/ldconfig"),
            (127, "./nosuch: No such file or directory", "./nosuch")):
        r = tool("compare", *args)
        check(r.returncode == status and r.stdout == "" and r.stderr == "gossamer: %s\n" % want, "%s: %s" % (args, r))
    check(good("compare", "--help").startswith("usage: gossamer compare"), "--help")


if __name__ == "__main__":
    sys.exit(tooltest.run(globals(), "stuck"))

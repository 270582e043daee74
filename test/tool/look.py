#!/usr/bin/env python3
"""The commands that look into a process: ps and stacks on live programs, stopped ones and cores.

test/tool/states.c has a hundred threads in known states, test/tool/busy.c some that never rest.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tooltest
from tooltest import GOSSAMER, GS, HERE, STATES, Program, Skip, check, good, refused, tool


def lines_of(name):
    with open(os.path.join(HERE, name + ".c"), encoding="utf-8") as f:
        return {m.group(1): n for n, text in enumerate(f, 1) for m in [re.search(r"/\* at (\w+) \*/", text)] if m}


def check_stacks(text, running=True):
    """All groups of states.c, each with its number, its function and its line."""
    where = lines_of("states")
    seen = {}
    for block in text.strip().split("\n\n"):
        head, *rest = block.split("\n")
        m = re.match(r"(?:(\d+) goroutines|goroutine \d+) \[(.*?)\]:", head)
        check(m, "strange heading %r" % head)
        for name, at in zip(rest[0::2], rest[1::2]):
            check(re.fullmatch(r"\S.*\(\.\.\.\)", name) and re.fullmatch(r"\t\S.* \+0x[0-9a-f]+", at),
                  "strange frame %r %r" % (name, at))
            f = name[:-len("(...)")]
            line = re.match(r"\t.*/states\.c:(\d+) ", at)
            if f in STATES:
                n, state = seen.get(f, (0, ""))
                seen[f] = (n + int(m.group(1) or 1), m.group(2))
                # a loop of one line may be seen at its head
                check(line and abs(int(line.group(1)) - where[f]) <= (1 if f == "spinner" else 0),
                      "%s at %s, not at line %d" % (f, at.strip(), where[f]))
    for f, (n, state, _) in STATES.items():
        if f != "spinner" or running:
            check(f in seen, "no stack of " + f)
            check(seen[f][0] == n and seen[f][1].startswith(state), "%s: %s, wanted %s" % (f, seen[f], (n, state)))
    check("main(...)" in text and "states.c:%d " % where["main"] in text, "main is not where it should be")


def after_death(text, want):
    """The rest of what is printed of a core."""
    head, rest = text.split("\n\n", 1)
    check(re.fullmatch(want, head), head)
    return rest


def build_id(program):
    r = subprocess.run(["readelf", "-n", program], stdout=subprocess.PIPE, text=True, check=True)
    return "Build ID" in r.stdout


# ---- the tests ----

def test_ps(live):
    j = live.settle()
    check(j["pid"] == live.pid and j["command"] == "states" and j["gomaxprocs"] == 2, "header")
    check(j["counts"]["alive"] == GS == len(j["gs"]), "counts %s" % j["counts"])
    check(j["counts"]["running"] == 1 and j["counts"]["syscall"] == 1, "counts %s" % j["counts"])
    check(j["counts"]["waiting"] == GS - 2, "counts %s" % j["counts"])
    for f, (n, state, detail) in STATES.items():
        gs = [g for g in j["gs"] if g["start"] == f]
        check(len(gs) == n, "%d of %s" % (len(gs), f))
        for g in gs:
            check(g["state"] == state and re.fullmatch(detail, g["detail"]), "%s: %s" % (f, g))
            check(g["status"] != "waiting" or g["wait_ns"] >= 0, "%s: no wait" % f)
    check([g["name"] for g in j["gs"] if g["start"] == "spinner"] == ["spinner"], "name")
    check(all("m" in g and "p" in g for g in j["gs"] if g["state"] == "running"), "running without M and P")
    check(j["counters"]["switches"] >= GS and j["ms"] >= 2, "counters %s" % j["counters"])


def test_ps_text(live):
    live.settle()
    head, counters, ps, empty, columns, *gs = good("ps", live.pid).splitlines()
    check(re.match(r"%d \(states\), up .*: GOMAXPROCS=2, \d+ Ms \(\d+ idle\), 101 Gs: 1 running, 0 runnable, "
                   r"1 syscall, 99 waiting; " % live.pid, head), head)
    check(re.match(r"switches \d+, steals \d+, ", counters) and ps.startswith("P0 ") and empty == "", counters)
    check(columns.split()[:6] == ["GOID", "STATE", "FOR", "M", "LWP", "P"], columns)
    lwps = [m.group(1) for m in [re.search(r"\bM\d+ +(\d+) ", line) for line in gs] if m]
    check(lwps and set(lwps) <= set(os.listdir("/proc/%d/task" % live.pid)), "%s" % lwps)
    check(len(gs) == 101 and gs[-1] == "... and 1 more; -a shows all", "%d lines" % len(gs))
    check(len(good("ps", "-a", live.pid).splitlines()) == 5 + GS, "-a")


def test_ps_filter_sort(live):
    live.settle()
    body = lambda *args: good("ps", *args, live.pid).splitlines()[5:]
    check(len(body("--state", "IO wait")) == 19, "IO wait")     # main, too
    check(len(body("--state", "waiting", "-a")) == GS - 2, "waiting")
    check(len(body("--state", "SYNC.MUTEX")) == 20, "case")
    check(len(body("--state", "dead")) == 0, "dead")
    r = tool("ps", "--state", "nothing", live.pid)
    check(r.returncode == 125 and r.stdout == "" and
          r.stderr == "gossamer: ps: --state: 'nothing' is no state (try gossamer ps --help)\n", "%s" % r)
    names = [line.split() for line in body("-a", "--sort", "start")]
    check(names[0][-1] == "listening", "start: %s" % names[0])
    j = json.loads(good("ps", "--json", "--sort", "wait", live.pid))
    waits = [g["wait_ns"] for g in j["gs"] if "wait_ns" in g]
    check(waits == sorted(waits, reverse=True), "wait")


def test_stacks(live):
    live.settle()
    check_stacks(good("stacks", live.pid))


def test_stacks_one(live):
    goid = next(g["goid"] for g in live.settle()["gs"] if g["start"] == "lock_wait")
    text = good("stacks", "-g", goid, live.pid)
    check(re.match(r"goroutine %d \[sync\.Mutex\.Lock, 0x[0-9a-f]+, held by goroutine 1\]:\npthread_mutex_lock" % goid,
                   text), text)
    check(text.count("goroutine") == 2 and "context_start" not in text, text)
    raw = good("stacks", "-r", "--goid", goid, live.pid)
    check("gopark(...)" in raw and "context_start(...)" in raw, raw)
    refused(r"\d+ \(states\): has no goroutine 999999", "stacks", "-g", 999999, live.pid)


def test_stacks_each(live):
    live.settle()
    text = good("stacks", "-e", live.pid)
    check(len(re.findall(r"^goroutine \d+ \[.*\]:$", text, re.M)) == GS, "not %d headings" % GS)


def test_stopped():
    with Program("states") as p:
        p.settle()
        os.kill(p.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        check_stacks(good("stacks", p.pid))
        check(json.loads(good("ps", "--json", p.pid))["counts"]["alive"] == GS, "ps")
        with open("/proc/%d/stat" % p.pid, encoding="utf-8") as f:
            check(f.read().split(")")[1].split()[0] == "T", "it is not stopped any more")
        os.kill(p.pid, signal.SIGCONT)
        p.settle()


def test_core():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read().strip()
    if "/" in pattern or "|" in pattern:
        raise Skip("cores do not go to the working directory here")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard != resource.RLIM_INFINITY:
        raise Skip("cores are limited here")
    limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    where = tempfile.mkdtemp(dir=tooltest.tmp)
    with Program("states", cwd=where, preexec_fn=limit) as p:
        p.settle()
        os.kill(p.pid, signal.SIGABRT)
        p.p.wait()
    cores = os.listdir(where)
    check(len(cores) == 1, "no core")
    core = os.path.join(where, cores[0])
    check_stacks(after_death(good("stacks", "--core", core), r"SIGABRT: Aborted, in (goroutine \d+|kernel thread \d+.*)"))
    moved = os.path.join(where, "moved")
    os.rename(os.path.join(tooltest.tmp, "states"), moved)
    try:
        check_stacks(after_death(good("stacks", "--core", core, moved), "SIGABRT: .*"))
    finally:
        os.rename(moved, os.path.join(tooltest.tmp, "states"))
    refused(r".*: No such file or directory", "stacks", "--core", core, "/nonexistent")
    other = os.path.join(tooltest.tmp, "busy")
    err = tool("stacks", "--core", core, other).stderr
    want = ": is not the program that died (another build id): names and lines are wrong\n"
    if build_id(other):
        check(err == "gossamer: " + other + want, err)
    with open(core, "r+b") as f:
        f.truncate(100000)
    refused(r".*core.*", "stacks", "--core", core)
    refused(r".*: is not a core file of x86-64", "stacks", "--core", GOSSAMER)
    refused(r".*: is not a core file", "stacks", "--core", "/dev/null")
    refused(r"/nonexistent: No such file or directory", "stacks", "--core", "/nonexistent")


def test_many():
    with open("/proc/meminfo", encoding="utf-8") as f:
        free = int(re.search(r"MemAvailable:\s+(\d+)", f.read()).group(1))
    if free < 3000000:
        raise Skip("100,000 threads need 3 GB")
    with Program("states", 100000, env={"GOSSAMER_STACK": "64K"}) as p:
        for command in ("ps", "stacks"):
            begin, cpu = time.monotonic(), os.times()
            text = good(command, p.pid)
            used = sum(os.times()[2:4]) - sum(cpu[2:4])
            print("   100,000 Gs: %s took %.1f s, %.1f s of CPU" % (command, time.monotonic() - begin, used))
            check(("%d Gs:" % (GS + 100000)) in text if command == "ps" else
                  re.search(r"^1000\d\d goroutines \[sync\.Cond\.Wait, 0x[0-9a-f]+\]", text, re.M),
                  "not all: " + text[:300])


def test_under_change():
    """Looked at all the time, it loses nothing; and what is shown is whole."""
    with Program("busy") as p:
        for i in range(25):
            j = json.loads(good("ps", "--json", p.pid))
            check(j["counts"]["alive"] >= 16, "%s" % j["counts"])
            text = good("stacks", p.pid)
            check("main(...)" in text, "no main: " + text)
            for f in re.findall(r"^(.*)\(\.\.\.\)$", text, re.M):
                check(re.fullmatch(r"[\w.]+(\+0x[0-9a-f]+)?", f), "strange function %r" % f)
            check(text.count("stack unavailable") <= 2, "too many unavailable: " + text)
        p.p.stdin.close()
        check(p.p.stdout.read() == "errors 0\n" and p.p.wait() == 0, "the program broke")
        p.p.stdin = open(os.devnull, encoding="utf-8")


def test_refuses(live):
    for command in ("ps", "stacks"):
        refused("'x' is not a process id", command, "x")
        refused("'12x' is not a process id", command, "12x")
        refused("'-5' is not a process id", command, "--", "-5")
        refused("'0' is not a process id", command, "0")
        refused("4194305: no such process", command, 4194305)
        refused(r"2 \(.*\): .*", command, 2)            # a kernel thread, or another's process
        with subprocess.Popen(["sleep", "60"]) as p:
            refused(r"%d \(.*\): is not run by gossamer \(libgossamer\.so is not loaded\)" % p.pid, command, p.pid)
            p.kill()
        for args, status in (([], 125), (["1", "2"], 125), (["--nonsense", "1"], 125)):
            check(tool(command, *args).returncode == status, "%s %s" % (command, args))
        check(good(command, "--help").startswith("usage: gossamer " + command), "--help")
    check(tool("ps", "--sort", "x", live.pid).returncode == 125, "--sort x")
    check(tool("stacks", "-g", "x", live.pid).returncode == 125, "-g x")
    check(tool("-p", "2", "ps", live.pid).returncode == 125, "-p 2 ps")
    check(good("--", "echo", "ps").strip() == "ps", "a program")
    check(good("check", "--help").startswith("usage: gossamer [-p N] [-s SIZE] check PROGRAM\n"), "check --help")


def test_passive():
    with subprocess.Popen([GOSSAMER, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdin.write(b"x")
        p.stdin.flush()
        p.stdout.read(1)        # the program runs, not the wrapper
        refused(r"%d \(cat\): has made no thread yet \(gossamer is passive in it\)" % p.pid, "ps", p.pid)
        p.stdin.close()


def test_ended():
    with Program("states") as p:
        os.kill(p.pid, signal.SIGKILL)
        os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
        for command in ("ps", "stacks"):
            refused(r"%d \(states\): has ended" % p.pid, command, p.pid)


def test_permission(live):
    if os.geteuid() != 0:
        raise Skip("not root, who alone can be somebody else")
    copy = os.path.join(tooltest.tmp, "gossamer")
    shutil.copy(GOSSAMER, copy)
    for command in ("ps", "stacks"):
        refused(r"%d \(states\): no permission to look into it \(.*\)" % live.pid, command, live.pid, command=copy,
                user=65534, group=65534, extra_groups=[], cwd="/")


def test_version():
    lib = os.path.join(os.path.dirname(GOSSAMER), ".libs", "libgossamer.so")
    if not os.path.exists(lib):
        raise Skip("no build tree")
    with open(lib, "rb") as f:
        data = f.read()
    head = b"gossamer\x02\0\0\0"
    check(data.count(head) == 1, "the layout is not found in the library")
    for change, want in ((b"gossamer\x63\0\0\0", r"its libgossamer\.so has layout version 99, this gossamer reads 2"),
                         (b"gassomer\x02\0\0\0", r"its libgossamer\.so does not describe itself \(.*\)")):
        other = os.path.join(tooltest.tmp, "libgossamer.so")
        with open(other, "wb") as f:
            f.write(data.replace(head, change))
        with Program("states", wrapper=["env", "LD_PRELOAD=" + other]) as p:
            refused(r"%d \(states\): %s" % (p.pid, want), "ps", p.pid)


if __name__ == "__main__":
    sys.exit(tooltest.run(globals()))

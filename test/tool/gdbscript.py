#!/usr/bin/env python3
"""The gdb commands, in batch mode: on a live process, on a core file, and loaded by gdb itself."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import tooltest
from tooltest import BUILD, GS, LIMIT, STATES, TOP, Program, Skip, check

SCRIPT = os.path.join(TOP, "gdb", "gossamer-gdb.py")
LIB = os.path.join(os.environ.get("top_builddir", BUILD), ".libs", "libgossamer.so")


def gdb(target, *commands, script=True, early=()):
    args = [x for c in early for x in ("-iex", c)]
    for c in (["source " + SCRIPT] if script else []) + ["set width 0", "echo begin\\n"] + list(commands):
        args += ["-ex", c]
    r = subprocess.run(["gdb", "-batch", "-nx", *args[:2 * len(early)], *target, *args[2 * len(early):]],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
                       text=True, check=False)
    if "ptrace: " in r.stdout:
        raise Skip("gdb may not attach")
    return r.stdout.split("begin\n", 1)[-1]


def line_of(mark):
    with open(os.path.join(tooltest.HERE, "states.c"), encoding="utf-8") as f:
        return [n for n, line in enumerate(f, 1) if "/* at %s */" % mark in line][0]


def check_list(text):
    lines = [re.match(r"[* ] +(\d+)  (.{20}) (.{15}) (\S+)(.*)$", x) for x in text.splitlines()]
    lines = [m for m in lines if m]
    check(len(lines) == GS, "%d goroutines: %s" % (len(lines), text[:300]))
    for f, (n, state, _) in STATES.items():
        got = [m for m in lines if m.group(4) == f and m.group(2).strip() == state]
        check(len(got) == n, "%s: %d of %d" % (f, len(got), n))
    held = [m for m in lines if m.group(4) == "lock_wait"]
    check(all(re.fullmatch(r" +0x[0-9a-f]+, held by goroutine 1", m.group(5)) for m in held), "%s" % held)
    return {m.group(4): m.group(1) for m in lines}


def check_stacks(text):
    """goroutine all bt"""
    parts = re.split(r"\n(?=goroutine \d+ \[)", "\n" + text)[1:]
    check(len(parts) == GS, "%d stacks" % len(parts))
    for f, (n, _, _) in STATES.items():
        frame = re.compile(r"^#\d+ .*\b%s \(.*states\.c:%s$" % (f, r"\d+" if f == "spinner" else line_of(f)), re.M)
        got = [p for p in parts if frame.search(p)]
        check(len(got) == n, "%s: %d of %d stacks: %s" % (f, len(got), n, text[:1000]))
    check(all(re.search(r"^#0 ", p, re.M) for p in parts), "the numbers do not begin at 0")


def test_live(live):
    live.settle()
    target = ["-p", str(live.pid)]
    ids = check_list(gdb(target, "info goroutines"))
    check_stacks(gdb(target, "goroutine all bt"))
    one = gdb(target, "goroutine " + ids["cond_waiter"])
    check(re.search(r"^#\d+ .*cond_waiter \(.*states\.c:%d$" % line_of("cond_waiter"), one, re.M), one)
    check(re.match(r"#0 .*\n#1 ", one), one)
    one = gdb(target, "goroutine %s bt 2" % ids["cond_waiter"])
    check(len(re.findall(r"^#\d", one, re.M)) in (1, 2), one)
    # gdb's own view is as before
    before = gdb(target, "bt 3", "goroutine all bt 1", "echo again\\n", "bt 3")
    check(before.split("goroutine")[0].strip() == before.split("again\n")[-1].split("[Inferior")[0].strip(), before)
    live.settle()               # and it goes on


def test_numbers(live):
    """The frames are counted from the goroutine's newest, also if functions are inlined into the thread's."""
    live.settle()
    target = ["-p", str(live.pid)]
    ids = check_list(gdb(target, "info goroutines"))
    g = "goroutine %s " % ids["cond_waiter"]
    all_ = gdb(target, g + "bt")
    frames = dict(re.findall(r"^#(\d+) +(.*)$", all_, re.M))
    where = next(n for n, text in frames.items() if "cond_waiter (" in text)
    check(sorted(map(int, frames)) == list(range(len(frames))), all_)
    check([n for n, _ in re.findall(r"^#(\d+) +(.*)$", gdb(target, g + "bt 3"), re.M)] == ["0", "1", "2"], "bt 3")
    check(re.findall(r"^#(\d+) +(.*)$", gdb(target, g + "bt 1"), re.M) == [("0", frames["0"])], "bt 1")
    for command in ("frame function cond_waiter", "up " + where, "frame " + where, "f " + where, "frame level " + where):
        text = gdb(target, g + command)
        check(re.search(r"^#%s .*\bcond_waiter \(" % where, text, re.M) and len(re.findall("^#", text, re.M)) == 1,
              command + ": " + text)
    text = gdb(target, g + "nonsense")
    check(text.count("nonsense") == 1 and "Python" not in text, text)
    check("you cannot go down" in gdb(target, g + "down"), "down")


def test_inline():
    """The selected thread stands in a function that was inlined."""
    with Program("inlined") as p:
        target = ["-p", str(p.pid)]
        text = gdb(target, "info goroutines")
        ids = {m.group(2): m.group(1) for m in re.finditer(r"^[* ] +(\d+)  .{20} .{15} (\S+)", text, re.M)}
        n = next((x for x in re.findall(r"^[* ] (\d+) ", gdb(target, "info threads"), re.M)
                  if "inner" in gdb(target, "thread " + x, "bt 1")), None)
        check(n is not None, "no thread in inner: " + text)
        inline = gdb(target, "thread " + n, "bt 3")
        check(re.search(r"^#0 .*\binner .*\n(.*\n)*#1 .*\bouter ", inline, re.M), "not inlined: " + inline)
        text = gdb(target, "thread " + n, "echo now\\n", "goroutine %s bt" % ids["sleeps"]).split("now\n")[1]
        check(re.match(r"#0 ", text) and "sleeps (" in text and "inner" not in text and "outer" not in text, text)
        text = gdb(target, "thread " + n, "echo now\\n", "goroutine %s bt 1" % ids["sleeps"]).split("now\n")[1]
        check(re.match(r"#0 ", text) and text.count("#") == 1 and "inner" not in text and "outer" not in text, text)


def test_ended():
    with Program("odd") as p:
        target = ["-p", str(p.pid)]
        text = gdb(target, "info goroutines", "goroutine 2 bt")
        check(re.search(r"^ +2  ended, not joined .* quick ", text, re.M), text)
        check("goroutine 2 has ended; there is no stack" in text.splitlines(), text)
        check("\x1b" not in text and "\\x1b[31mred" in text, text)


def test_refuses(live):
    target = ["-p", str(live.pid)]
    for command, want in (("goroutine 999999", "no goroutine 999999"), ("goroutine", "usage: goroutine ID|all [COMMAND]"),
                          ("goroutine x bt", "usage: goroutine ID|all [COMMAND]")):
        check(want in gdb(target, command).splitlines(), command)
    p = subprocess.Popen(["sleep", "60"])
    try:
        check("libgossamer.so is not loaded in this process" in gdb(["-p", str(p.pid)], "info goroutines"), "without us")
    finally:
        p.kill()
        p.wait()


def test_core():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read().strip()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if "/" in pattern or "|" in pattern or hard != resource.RLIM_INFINITY:
        raise Skip("no cores in the working directory here")
    with tempfile.TemporaryDirectory(dir=tooltest.tmp) as where:
        with Program("states", cwd=where,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))) as p:
            p.settle()
            os.kill(p.pid, signal.SIGABRT)
            p.p.wait()
        target = [os.path.join(tooltest.tmp, "states"), os.path.join(where, os.listdir(where)[0])]
        check_list(gdb(target, "info goroutines"))
        check_stacks(gdb(target, "goroutine all bt"))


def test_auto_load(live):
    with tempfile.TemporaryDirectory() as d:
        to = d + os.path.dirname(os.path.realpath(LIB))
        os.makedirs(to)
        shutil.copy(SCRIPT, os.path.join(to, os.path.basename(LIB) + "-gdb.py"))
        text = gdb(["-p", str(live.pid)], "info goroutines", script=False,
                   early=("set auto-load scripts-directory " + d, "add-auto-load-safe-path " + d))
        check_list(text)


if __name__ == "__main__":
    if shutil.which("gdb") is None or "3" not in gdb([], "python print(1 + 2)", script=False):
        print("no gdb with Python")
        sys.exit(77)
    sys.exit(tooltest.run(globals(), "odd", "inlined"))

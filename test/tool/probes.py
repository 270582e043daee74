#!/usr/bin/env python3
"""The static probes: all are in the library, each is one nop and takes nothing that has to be computed, and a
debugger finds their arguments."""

import os
import re
import shutil
import subprocess
import sys

import tooltest
from tooltest import BUILD, LIMIT, Program, Skip, check

ARGS = {"create": 3, "exit": 1, "handoff": 1, "park": 3, "preempt": 2, "ready": 1, "steal": 3}
LIB = os.path.join(os.environ.get("top_builddir", BUILD), ".libs", "libgossamer.so")


def output(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT, text=True,
                          check=True).stdout


def probes():
    """[(name, address, [argument])]"""
    found = re.findall(r"Provider: gossamer\n\s*Name: (\w+)\n\s*Location: (0x[0-9a-f]+),.*Semaphore: 0x0+\n"
                       r"\s*Arguments:(.*)", output("readelf", "-nW", LIB))
    # an argument has no blank but behind a comma in parentheses
    return [(name, int(at, 16), re.findall(r"-?\d@\S+", args)) for name, at, args in found]


def test_all_there():
    found = probes()
    check({name for name, _, _ in found} == set(ARGS), "%s" % found)
    for name, _, args in found:
        check(len(args) == ARGS[name], "%s: %s" % (name, args))


def test_one_nop_each():
    for name, at, _ in probes():
        text = output("objdump", "-d", "--start-address=%d" % at, "--stop-address=%d" % (at + 1), LIB)
        check(re.search(r"^ +%x:\t90 +\tnop$" % at, text, re.M), "%s: %s" % (name, text))


def gdb(pid, *commands):
    if shutil.which("gdb") is None:
        raise Skip("no gdb")
    args = [x for c in ("set pagination off", "set confirm off", "handle SIGURG nostop noprint pass", *commands,
                        "detach") for x in ("-ex", c)]
    return output("gdb", "-batch", "-nx", "-p", str(pid), *args)


def test_arguments():
    with Program("busy") as p:
        for name, want in (("park", r"\d+, \d+, \d+"), ("ready", r"\d+"), ("exit", r"\d+")):
            n = ARGS[name]
            text = gdb(p.pid, "break -probe-stap gossamer:" + name, "continue", 'printf "at %s\\n", %s' % (
                ", ".join(["%ld"] * n), ", ".join("(long)$_probe_arg%d" % i for i in range(n))))
            if "cannot attach" in text.lower():
                raise Skip("gdb may not attach")
            m = re.search(r"^at (%s)$" % want, text, re.M)
            check(m and int(m.group(1).split(",")[0]) > 0, "%s: %s" % (name, text[-600:]))


if __name__ == "__main__":
    if shutil.which("readelf") is None or shutil.which("objdump") is None:
        print("no binutils")
        sys.exit(77)
    if not os.path.exists(LIB) or not probes():
        # a build with them cannot have lost all without this test's knowing
        with open(os.path.join(os.path.dirname(os.path.dirname(LIB)), "Makefile"), encoding="utf-8") as make:
            if "-DGOSSAMER_PROBES=1" not in make.read():
                print("a build without probes")
                sys.exit(77)
    sys.exit(tooltest.run(globals()))

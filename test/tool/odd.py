#!/usr/bin/env python3
"""The commands that look into a process, on the threads of odd.c: ended ones, odd names, a stack too deep, ..."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

import tooltest
from tooltest import GOSSAMER, LIMIT, Program, Skip, check, good, tool

NAMES = {"\\x1b[31mred", "new\\x0aline", "gr\u00fcn\\xff"}


def settled(p):
    """Until sysmon has seen the call that nobody announced, and the ended have ended. There is one P (procs=1): a second one
    would never be missed, and not be taken from that call."""
    end = time.monotonic() + LIMIT
    while True:
        j = json.loads(good("ps", "--json", p.pid))
        gs = {g["start"]: g for g in j["gs"] if g["start"] != "napper"}
        if (gs["unannounced"]["state"] == "syscall" and "unannounced" in gs["unannounced"]["detail"] and
                sum(g["state"] == "ended, not joined" for g in j["gs"]) >= 3):
            return j
        check(time.monotonic() < end, "never settled: %s" % gs)
        time.sleep(0.05)


def blocks(text):
    return text.strip().split("\n\n")


def test_ended():
    with Program("odd", procs=1) as p:
        j = settled(p)
        ended = [g for g in j["gs"] if g["start"] == "quick"]
        check(len(ended) == 3 and all(g["status"] == "waiting" and g["state"] == "ended, not joined" for g in ended),
              "%s" % ended)
        check(len(good("ps", "--state", "ended", p.pid).splitlines()) == 5 + 3, "--state")
        block = [b for b in blocks(good("stacks", p.pid)) if "ended" in b]
        check(len(block) == 1 and re.fullmatch(r"3 goroutines \[ended, not joined\]: \d+ \d+ \d+\n"
                                               r"\tit has ended; there is no stack, it began at\n"
                                               r"quick\(\.\.\.\)\n\t\S*odd\.c:\d+ \+0x0", block[0]), "%s" % block)
        check("quick;[ended, not joined] 3\n" in good("profile", p.pid), "profile")


def test_main_ended():
    with Program("odd", "exit", procs=1) as p:
        settled(p)
        text = good("stacks", "-g", 1, p.pid)
        check(text == "goroutine 1 [ended, not joined]:\n\tit has ended; there is no stack\n\n", text)


def test_counts():
    """The header says what the list says."""
    with Program("odd", procs=1) as p:
        j = settled(p)
        for state in ("running", "runnable", "syscall"):
            check(j["counts"][state] == sum(g["state"] == state for g in j["gs"]) ==
                  sum(g["status"] == state for g in j["gs"]), "%s: %s" % (state, j))
        head, *rest = good("ps", p.pid).splitlines()
        check(int(re.search(r"(\d+) syscall", head).group(1)) == sum(x.split()[1] == "syscall" for x in rest[4:]), head)


def test_names():
    with Program("odd", procs=1) as p:
        settled(p)
        for args in (["ps"], ["stacks"], ["top", "-b", "-n", "1"]):
            text = good(*args, p.pid)
            check(re.fullmatch(r"[\n\t -~\u00a0-\uffff]*", text), "%s: %r" % (args, text))
            if args[0] != "stacks":
                check(all(name in text for name in NAMES), "%s: %s" % (args, text))
        check({"\x1b[31mred", "new\nline", "gr\u00fcn\ufffd"} <= {g["name"] for g in
                                                              json.loads(good("ps", "--json", p.pid))["gs"]}, "json")


def test_holder():
    with Program("odd", procs=1) as p:
        settled(p)
        text = good("stacks", p.pid)
        check(re.search(r"^4 goroutines \[sync\.Mutex\.Lock, 0x[0-9a-f]+, held by goroutine 1\]: \d+", text, re.M), text)


def test_deep():
    with Program("odd", procs=1) as p:
        settled(p)
        block = [b for b in blocks(good("stacks", p.pid)) if "deep(...)" in b]
        check(len(block) == 1 and block[0].endswith("\n...older frames elided: no more than 128 are read..."), "%s" % block)


def test_sleeps():
    """Nobody sleeps for longer than it may, however many were looked at between the list and its stack."""
    with Program("odd", 20000, procs=1, env={"GOSSAMER_STACK": "64K"}) as p:
        for _ in range(10):
            block = [b for b in blocks(good("stacks", p.pid)) if "napper(...)" in b]
            check(len(block) == 1, "%s" % block)
            left = re.search(r"sleep, for another (\d+)ms", block[0])
            check(left is None or int(left.group(1)) <= 30, block[0])


def test_traced():
    with Program("odd", procs=1) as p:
        g = next(g for g in settled(p)["gs"] if g["start"] == "unannounced")
        try:
            tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-p", str(g["kernel_tid"])])
        except FileNotFoundError as e:
            raise Skip("no strace") from e
        try:
            end = time.monotonic() + LIMIT
            while "TracerPid:\t%d\n" % tracer.pid not in open("/proc/%d/status" % g["kernel_tid"], encoding="utf-8").read():
                check(tracer.poll() is None and time.monotonic() < end, "strace does not trace")
                time.sleep(0.05)
            text = good("stacks", "-g", g["goid"], p.pid)
            check("\tgoroutine could not be stopped (traced by process %d); stack unavailable\n" % tracer.pid in text, text)
        finally:
            tracer.terminate()
            tracer.wait(timeout=LIMIT)


def test_death():
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read().strip()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if "/" in pattern or "|" in pattern or hard != resource.RLIM_INFINITY:
        raise Skip("no cores in the working directory here")
    with tempfile.TemporaryDirectory(dir=tooltest.tmp) as where:
        r = subprocess.run([GOSSAMER, os.path.join(tooltest.tmp, "odd"), "segv"], cwd=where, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, timeout=LIMIT, check=False,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
        check(r.returncode == -signal.SIGSEGV, "%s" % r)
        text = good("stacks", "--core", os.path.join(where, os.listdir(where)[0]))
        m = re.match(r"SIGSEGV: Segmentation fault, address 0x0, in goroutine (\d+)\n\n", text)
        check(m and re.search(r"^goroutine %s \[running\]:\n(.*\n)*?faults\(\.\.\.\)\n" % m.group(1), text, re.M), text)


def test_profile_options():
    with Program("odd", procs=1) as p:
        for args, want in ((["--seconds", "1"], "--seconds is for --cpu and --growth; --wait looks once"),
                           (["--svg", "-o", "x.pb.gz"], "--svg: 'x.pb.gz' is the name of a file for pprof")):
            r = tool("profile", *args, p.pid)
            check(r.returncode == 125 and r.stdout == "" and r.stderr == "gossamer: profile: %s\n" % want, "%s" % r)
        os.kill(p.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WNOWAIT)
        r = tool("profile", "--cpu", "--seconds", 1, p.pid)
        check(r.returncode == 0 and r.stdout == "" and
              r.stderr == "gossamer: %d (odd): is stopped: nothing was seen to run\n" % p.pid, "%s" % r)


if __name__ == "__main__":
    sys.exit(tooltest.run(globals(), "odd"))

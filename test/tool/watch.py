#!/usr/bin/env python3
"""The commands that watch a process for a while: profile and top."""

import fcntl
import gzip
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import xml.etree.ElementTree

import tooltest
from tooltest import GOSSAMER, GS, LIMIT, STATES, Program, Skip, check, good, refused, tool


def folded(text):
    """{stack: weight}"""
    found = {}
    for line in text.splitlines():
        m = re.fullmatch(r"(\S.*) (\d+)", line)
        check(m and m.group(1) not in found, "strange line %r" % line)
        found[m.group(1)] = int(m.group(2))
    return found


def check_waits(found):
    check(sum(found.values()) == GS, "%d Gs" % sum(found.values()))
    for f, (n, state, _) in STATES.items():
        got = sum(w for s, w in found.items() if s.startswith(f + ";") and s.endswith(";[%s]" % state))
        check(got == n, "%s: %d, wanted %d: %s" % (f, got, n, found))


def test_waits(live):
    live.settle()
    check_waits(folded(good("profile", live.pid)))
    name = os.path.join(tooltest.tmp, "out.folded")
    check(good("profile", "--wait", "-o", name, live.pid) == "", "output")
    with open(name, encoding="utf-8") as f:
        check_waits(folded(f.read()))
    check("gopark" in good("profile", "-r", live.pid), "-r")


def test_cpu():
    with Program("states", procs=1) as p:
        p.settle()
        found = folded(good("profile", "--cpu", "--seconds", 2, p.pid))
        check(found.get("spinner", 0) > 5 and found["spinner"] >= sum(found.values()) * 0.8, "%s" % found)


# ---- pprof ----

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def message(data):
    """[(field, number or bytes)]"""
    at, fields = 0, []
    while at < len(data):
        key, at = varint(data, at)
        check(key & 7 in (0, 2), "wire type %d" % (key & 7))
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            check(at <= len(data), "too short")
        fields.append((key >> 3, value))
    return fields


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def test_pprof(live):
    live.settle()
    name = os.path.join(tooltest.tmp, "out.pb.gz")
    check(good("profile", "-o", name, live.pid) == "", "output")
    with gzip.open(name) as f:
        p = message(f.read())
    strings = [v.decode() for n, v in p if n == 6]
    check(strings[0] == "" and len(set(strings)) == len(strings), "string table")
    types = [[strings[v] for _, v in message(t)] for n, t in p if n == 1]
    check(types == [["goroutines", "count"], ["wait", "nanoseconds"]], "%s" % types)
    functions = {dict(message(v))[1]: dict(message(v)) for n, v in p if n == 5}
    mappings = {dict(message(v))[1]: dict(message(v)) for n, v in p if n == 3}
    locations = {dict(message(v))[1]: dict(message(v)) for n, v in p if n == 4}
    where = {}
    for n, v in p:
        if n != 2:
            continue
        s = dict(message(v))
        frames = []
        for i in packed(s[1]):
            line = dict(message(locations[i][4]))
            f = functions[line[1]]
            frames.append(strings[f[2]])
            if strings[f[2]] in STATES:
                check(strings[f[4]].endswith("/states.c") and line[2] > 0, "file and line")
                m = mappings[locations[i][2]]
                check(m[2] <= locations[i][3] < m[3] and strings[m[5]].endswith("/states"), "mapping")
        stack = ";".join(reversed(frames))
        where[stack] = where.get(stack, 0) + packed(s[2])[0]
    check_waits(where)
    if shutil.which("go"):
        r = subprocess.run(["go", "tool", "pprof", "-top", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=LIMIT, env=dict(os.environ, HOME=tooltest.tmp))
        if "no such tool" not in r.stderr:
            check(r.returncode == 0 and "[sync.Mutex.Lock]" in r.stdout, "go tool pprof: " + r.stderr)


def test_pprof_cpu(live):
    live.settle()
    name = os.path.join(tooltest.tmp, "cpu.pb.gz")
    good("profile", "--cpu", "--seconds", 1, "-o", name, live.pid)
    with gzip.open(name) as f:
        p = dict(message(f.read()))
    check(p[12] == 1000000000 // 99 and p[10] == 1000000000 and p[9] > 1600000000 * 10 ** 9, "%s" % p)


def test_svg(live):
    live.settle()
    root = xml.etree.ElementTree.fromstring(good("profile", "--svg", live.pid))
    ns = "{http://www.w3.org/2000/svg}"
    titles = [e.text for e in root.iter(ns + "title")]
    check(titles[0] == "all: %d, 100.0%%" % GS and "lock_wait: 20, 19.8%" in titles, "%s" % titles)
    widths = {g.find(ns + "title").text: float(g.find(ns + "rect").get("width")) for g in root.iter(ns + "g")}
    check(abs(widths["lock_wait: 20, 19.8%"] / widths[titles[0]] - 20 / GS) < 0.01, "width")
    name = os.path.join(tooltest.tmp, "out.svg")
    good("profile", "-o", name, live.pid)
    xml.etree.ElementTree.parse(name)


def test_growth():
    with Program("states") as p:
        p.settle()
        text = good("profile", "--growth", "--seconds", 1, p.pid)
        check(re.fullmatch(r"no place has more Gs than 1 s ago\n", text), text)
        with subprocess.Popen([GOSSAMER, "profile", "--growth", "--seconds", "3", str(p.pid)], stdout=subprocess.PIPE,
                              text=True) as looking:
            time.sleep(1)
            os.kill(p.pid, signal.SIGUSR1)      # it makes 7 more at the condition variable
            text = looking.communicate(timeout=LIMIT)[0]
        check(re.search(r"1 place\n +\+7 +27  \[sync\.Cond\.Wait\]\n.*\n +cond_waiter  .*/states\.c:\d+\n", text), text)


# ---- top ----

def test_top_batch(live):
    live.settle()
    text = good("top", "-b", "-n", 2, "-d", 0.5, live.pid)
    blocks = text.split("\n\n")
    check(len(blocks) == 4, "%d blocks" % len(blocks))
    for head in blocks[0::2]:
        check(re.match(r"%d \(states\), up .*: GOMAXPROCS=2, \d+ Ms \(\d+ idle, \d+ spinning\), 0 stacks cached\n"
                       r"101 Gs: 1 running, 0 runnable, 1 syscall, 99 waiting\n"
                       r"per second.*: switches \d+, .*\nP0 .*\nP1 .*\nglobal .*$" % live.pid, head), head)
    first = blocks[3].splitlines()[1].split()
    check(first[1] == "running" and first[-2:] == ["spinner", "spinner"] and float(first[2]) > 1, "%s" % first)


def test_top_busy():
    with Program("busy") as p:
        text = good("top", "-b", "-n", 2, "-d", 0.5, "--sort", "runs", p.pid)
        check(int(re.search(r"per second: switches (\d+)", text).group(1)) > 100, text)
        lines = [line.split() for line in text.split("\n\n")[3].splitlines()[1:]]
        runs = [int(re.search(r"\.\d +(\d+) ", line).group(1)) for line in text.split("\n\n")[3].splitlines()[1:]]
        check(lines and runs == sorted(runs, reverse=True), "%s" % runs)


class Terminal:
    """top on a terminal of its own."""

    def __init__(self, pid, *args, term="xterm"):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.p = subprocess.Popen([GOSSAMER, "top", *args, str(pid)], stdin=slave, stdout=slave, stderr=slave,
                                  env=dict(os.environ, TERM=term))
        os.close(slave)
        self.text = ""

    def until(self, want):
        end = time.monotonic() + LIMIT
        while not re.search(want, self.text, re.S):
            check(time.monotonic() < end, "no %r on the screen: %r" % (want, self.text[-500:]))
            if not select.select([self.master], [], [], 1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            check(data, "it ended without %r: %r" % (want, self.text[-500:]))
            self.text += data.decode(errors="replace")

    def key(self, c):
        os.write(self.master, c.encode())

    def status(self):
        drain = threading.Thread(target=self.drain)
        drain.start()
        r = self.p.wait(timeout=LIMIT)
        drain.join()
        os.close(self.master)
        return r

    def drain(self):
        try:
            while True:
                data = os.read(self.master, 65536)
                if not data:
                    return
                self.text += data.decode(errors="replace")
        except OSError:
            pass


def test_top_screen(live):
    live.settle()
    t = Terminal(live.pid, "-d", "0.2")
    t.until(r"GOMAXPROCS=2.*101 Gs.*P0 .*P1 .*GOID.*spinner.*")
    t.text = ""
    t.key("w\f")                # the longest wait first; and all of the screen again
    t.until(r"GOID.*?STATE.*?START(?!.*spinner).*sleeper")
    t.key("q")
    check(t.status() == 0, "status")


def test_top_screen_interrupted(live):
    t = Terminal(live.pid, "-d", "0.2")
    t.until("GOMAXPROCS=2")
    t.key("\x03")
    check(t.status() == 0, "status")


def test_top_screen_ended():
    with Program("states") as p:
        t = Terminal(p.pid, "-d", "0.2")
        t.until("GOMAXPROCS=2")
        os.kill(p.pid, signal.SIGKILL)
        check(t.status() == 1, "status")
        check(re.search(r"gossamer: %d \(states\): has ended meanwhile\r?\n" % p.pid, t.text.split("\x1b[?1049l")[-1]),
              "the line is not behind the screen: %r" % t.text[-300:])


def test_refuses(live):
    for command in ("profile", "top"):
        refused("'x' is not a process id", command, "x")
        refused("4194305: no such process", command, 4194305)
        for args in ([], ["1", "2"], ["--nonsense", "1"]):
            check(tool(command, *args).returncode == 125, "%s %s" % (command, args))
        check(good(command, "--help").startswith("usage: gossamer " + command), "--help")
    for args in (["profile", "--seconds", "0"], ["profile", "--growth", "--svg"], ["top", "-d", "x"],
                 ["top", "-n", "0"], ["top", "--sort", "x"], ["top"], ["profile", "-o", "/nonexistent/x.pb.gz"],
                 ["profile", "-o", "/nonexistent/x.svg"]):
        r = tool(*args, live.pid)
        check(r.returncode == 125 and r.stderr.startswith("gossamer: ") and r.stderr.count("\n") == 1,
              "%s: %s" % (args, r))


def test_dies_meanwhile():
    for args in (["profile", "--growth", "--seconds", "2"], ["top", "-b", "-d", "0.2"]):
        with Program("states") as p:
            looking = subprocess.Popen([GOSSAMER, *args, str(p.pid)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            time.sleep(1)
            os.kill(p.pid, signal.SIGKILL)
            err = looking.communicate(timeout=LIMIT)[1]
            check(looking.returncode == 1 and err == "gossamer: %d (states): has ended meanwhile\n" % p.pid,
                  "%s: %d %r" % (args, looking.returncode, err))


def test_cpu_ends():
    """What was seen until the process ended is written."""
    with Program("states") as p:
        p.settle()
        looking = subprocess.Popen([GOSSAMER, "profile", "--cpu", "--seconds", "60", str(p.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        os.kill(p.pid, signal.SIGKILL)
        out, err = looking.communicate(timeout=LIMIT)
        check(looking.returncode == 0 and folded(out).get("spinner", 0) > 5, "%d %r" % (looking.returncode, out))
        check(re.fullmatch(r"gossamer: %d \(states\): has ended meanwhile\n"
                           r"gossamer: %d \(states\): the profile is of the \d+\.\d s until then\n" % (p.pid, p.pid), err),
              err)


def test_under_change():
    with Program("busy") as p:
        found = folded(good("profile", "--cpu", "--seconds", 3, p.pid))
        check(found, "nothing was seen to run")
        for _ in range(10):
            folded(good("profile", p.pid))
        good("top", "-b", "-n", 20, "-d", 0.05, p.pid)
        p.p.stdin.close()
        check(p.p.stdout.read() == "errors 0\n" and p.p.wait() == 0, "the program broke")
        p.p.stdin = open(os.devnull, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(tooltest.run(globals()))

#!/usr/bin/env python3
"""What a process says of itself on standard error: the dump on a signal, and the report of a deadlock."""

import os
import re
import select
import signal
import subprocess
import sys
import time

import tooltest
from tooltest import GOSSAMER, GS, LIMIT, STATES, Failure, check


class Talker:
    """A program under gossamer whose standard error is read."""

    def __init__(self, name, *args, procs=2, **env):
        self.p = subprocess.Popen([GOSSAMER, "-p", str(procs), os.path.join(tooltest.tmp, name), *args],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=dict(os.environ, **env))
        self.pid = self.p.pid
        self.text = ""
        check(self.p.stdout.readline() == b"ready\n", name + " did not get ready")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.p.kill()
        self.p.wait()
        for f in (self.p.stdin, self.p.stdout, self.p.stderr):
            f.close()

    def read(self, seconds):
        if select.select([self.p.stderr], [], [], seconds)[0]:
            data = os.read(self.p.stderr.fileno(), 65536)
            if not data:
                raise Failure("it ended: %r" % self.text[-500:])
            self.text += data.decode()

    def until(self, want):
        end = time.monotonic() + LIMIT
        while not re.search(want, self.text, re.S | re.M):
            check(time.monotonic() < end, "no %r in %r" % (want, self.text[-1000:]))
            self.read(1)
        return self.text

    def alive(self):
        check(self.p.poll() is None, "it ended with %s" % self.p.poll())

    def state(self, letter):
        with open("/proc/%d/stat" % self.pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == letter


def settle(t):
    """As Program.settle, from outside."""
    p = object.__new__(tooltest.Program)
    p.pid = t.pid
    p.settle()


def paragraphs(text):
    """{goid: (heading, rest)}"""
    found = {}
    for part in text.split("\n\n"):
        m = re.match(r"goroutine (\d+) \[(.*)\]:(.*)\n", part)
        if m:
            found[int(m.group(1))] = (m.group(2), m.group(3).strip(), part[m.end():])
    return found


def check_dump(t):
    text = t.until(r"^gossamer: dump of all goroutines\nGOMAXPROCS=2, process %d; .*goroutine 1 \[.*?\n\n" % t.pid)
    gs = paragraphs(text)
    check(len(gs) == GS, "%d Gs" % len(gs))
    names = {"locker": "lock_wait", "cond": "cond_waiter", "sem": "sem_waiter", "rw": "rw_waiter",
             "barrier": "barrier_waiter", "joiner": "joiner", "sleeper": "sleeper", "reader": "pipe_reader",
             "acceptor": "acceptor", "poller": "poller", "spinner": "spinner", "kernel": "in_kernel"}
    detail = {"cond_waiter": "0x", "lock_wait": "0x[0-9a-f]+, held by goroutine 1$", "joiner": r"goroutine \d+$",
              "pipe_reader": r"fd \d+$", "spinner": r"thread \d+$", "in_kernel": r"thread \d+$"}
    seen = {}
    for heading, name, rest in gs.values():
        if name not in names:
            continue
        f = names[name]
        _, state, _ = STATES[f]
        check(heading == state or heading.startswith(state + ", "), "%s: %s" % (f, heading))
        check(re.search(detail.get(f, ""), heading), "%s: %s" % (f, heading))
        check(re.search(r"^started at\tstates\+0x[0-9a-f]+$", rest, re.M), rest)
        if heading.split(",")[0] not in ("running", "syscall"):
            check(rest.startswith("\tlibgossamer.so+0x"), rest)
            check(re.search(r"^\t\? states\+0x", rest, re.M), "%s: no frame of the program: %s" % (f, rest))
        seen[f] = seen.get(f, 0) + 1
    check(seen == {f: n for f, (n, _, _) in STATES.items()}, "%s" % seen)
    return gs


def test_dump():
    with Talker("states", GOSSAMER_DUMP_SIGNAL="QUIT") as t:
        settle(t)
        os.kill(t.pid, signal.SIGQUIT)
        gs = check_dump(t)
        # the caller of the wait is among the addresses: addr2line knows its line
        where = [rest for _, name, rest in gs.values() if name == "cond"][0]
        at = [hex(int(x, 16) - 1) for x in re.findall(r"\? states\+(0x[0-9a-f]+)", where)]
        lines = subprocess.run(["addr2line", "-f", "-e", os.path.join(tooltest.tmp, "states")] + at, timeout=LIMIT,
                               stdout=subprocess.PIPE, text=True, check=True).stdout
        check("cond_waiter" in lines.split("\n"), lines)
        t.text = ""
        os.kill(t.pid, signal.SIGQUIT)          # and once more
        check_dump(t)
        t.p.stdin.close()                       # it goes on, and ends as it would
        check(t.p.wait(timeout=LIMIT) == 0, "status")
        t.p.stdin = open(os.devnull, "wb")


def test_dump_names():
    for name, sig in (("SIGUSR2", signal.SIGUSR2), ("12", 12), ("RTMIN+3", signal.SIGRTMIN + 3)):
        with Talker("stuck", "lost", GOSSAMER_DUMP_SIGNAL=name) as t:
            os.kill(t.pid, sig)
            t.until(r"^gossamer: dump of all goroutines\n")
            t.alive()
    for name in ("NONE", "KILL", "SEGV", "99", "33", "URG"):
        with Talker("stuck", "lost", GOSSAMER_DUMP_SIGNAL=name) as t:
            check(t.until("\n") == "gossamer: GOSSAMER_DUMP_SIGNAL=%s is not a signal that can be had; ignored\n" % name,
                  t.text)
    with Talker("states", GOSSAMER_DUMP_SIGNAL="USR1") as t:
        check(t.until("\n") == "gossamer: GOSSAMER_DUMP_SIGNAL=USR1: the program handles that signal itself; ignored\n",
              t.text)
    with Talker("stuck", "lost") as t:
        os.kill(t.pid, signal.SIGQUIT)
        check(t.p.wait(timeout=LIMIT) == -signal.SIGQUIT, "without the variable the signal acts as ever")


def test_dump_busy():
    with Talker("busy", GOSSAMER_DUMP_SIGNAL="QUIT") as t:
        for _ in range(30):
            t.text = ""
            os.kill(t.pid, signal.SIGQUIT)
            t.until(r"^goroutine 1 \[.*?\n\n")
        t.p.stdin.close()
        check(t.p.stdout.read() == b"errors 0\n" and t.p.wait(timeout=LIMIT) == 0, "the program broke")
        t.p.stdin = open(os.devnull, "wb")


DEADLOCK = r"\Agossamer: all goroutines are asleep - deadlock!\n"


def test_deadlock_cycle():
    with Talker("stuck", "ab", GOSSAMER_DEADLOCK="1") as t:
        text = t.until(DEADLOCK + ".*goroutine 1 \\[.*?\n\n")
        m = re.search(r"each of these waits for the next:\n"
                      r"  goroutine (\d+) waits for the mutex (0x[0-9a-f]+), which goroutine (\d+) holds\n"
                      r"  goroutine (\d+) waits for the mutex (0x[0-9a-f]+), which goroutine (\d+) holds\nGOMAXPROCS", text)
        check(m and m.group(1) == m.group(6) and m.group(3) == m.group(4) != m.group(1) and m.group(2) != m.group(5),
              text)
        gs = paragraphs(text)
        check(len(gs) == 3 and gs[1][0].startswith("join, goroutine "), "%s" % gs)
        check(gs[int(m.group(1))][0] == "sync.Mutex.Lock, %s, held by goroutine %s" % (m.group(2), m.group(3)), text)
        before = len(t.text)
        t.read(2)
        check(len(t.text) == before, "it was said twice")
        t.alive()


def test_deadlock_ended():
    """Those that have ended cannot wake anybody, whether they are joined or not."""
    with Talker("stuck", "ended", GOSSAMER_DEADLOCK="1") as t:
        text = t.until(DEADLOCK + ".*goroutine 1 \\[.*?\n\n")
        check("each of these waits for the next:\n" in text, text)
        gs = paragraphs(text)
        check(len(gs) == 4 and gs[1][0] == gs[4][0] == "ended, not joined", "%s" % gs)
        check(gs[1][2] == gs[4][2].split("\nstarted")[0] == "\tit has ended; there is no stack", "%s" % gs)
        t.alive()


def test_deadlock_join():
    with Talker("stuck", "join", GOSSAMER_DEADLOCK="1") as t:
        text = t.until(DEADLOCK + ".*goroutine 1 \\[.*?\n\n")
        check(re.search(r"each of these waits for the next:\n  goroutine 1 waits for the end of goroutine (\d+)\n"
                        r"  goroutine \1 waits for the mutex 0x[0-9a-f]+, which goroutine 1 holds\nGOMAXPROCS", text), text)
        t.alive()


def test_deadlock_lost():
    for procs in (1, 4):
        with Talker("stuck", "lost", procs=procs, GOSSAMER_DEADLOCK="1") as t:
            text = t.until(DEADLOCK + ".*goroutine 1 \\[.*?\n\n")
            check("waits for the next" not in text and len(paragraphs(text)) == 3, text)
            t.alive()


def quiet(kind, *wake):
    with Talker("stuck", kind, GOSSAMER_DEADLOCK="1") as t:
        t.read(1.5 if wake else 0.1)
        for sig in wake:
            os.kill(t.pid, sig)
            time.sleep(0.3)
        out = t.p.stdout.read()
        check(out == b"over\n" and t.p.wait(timeout=LIMIT) == 0, "%s: %r" % (kind, out))
        t.text += t.p.stderr.read().decode()
        check(t.text == "", "%s: %s" % (kind, t.text))


def test_no_deadlock():
    quiet("timer")
    quiet("child")
    quiet("foreign")
    quiet("handler", signal.SIGUSR1, signal.SIGUSR1)
    with Talker("stuck", "pipe", GOSSAMER_DEADLOCK="1") as t:
        t.read(1.5)
        t.alive()
        check(t.text == "", t.text)


def test_deadlock_off():
    for value in ({}, {"GOSSAMER_DEADLOCK": "0"}):
        with Talker("stuck", "ab", **value) as t:
            t.read(1)
            check(t.text == "", t.text)


def test_deadlock_busy():
    with Talker("busy", GOSSAMER_DEADLOCK="1") as t:
        t.read(3)
        t.p.stdin.close()
        check(t.p.stdout.read() == b"errors 0\n" and t.p.wait(timeout=LIMIT) == 0, "the program broke")
        t.p.stdin = open(os.devnull, "wb")
        check(t.p.stderr.read() == b"" and t.text == "", t.text)


if __name__ == "__main__":
    sys.exit(tooltest.run(globals(), "stuck"))

"""What the tests of the commands that look into a process share: programs to look at, and how to run tests."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("GOSSAMER_BUILD") or os.path.join(TOP, "build")
GOSSAMER = os.environ.get("GOSSAMER") or os.path.join(BUILD, "gossamer")
CC = os.environ.get("CC", "cc").split()
LIMIT = 120                     # seconds that anything may take; no test looks at the time otherwise
tmp = ""                        # a directory with the programs

# function: (threads, state, detail)
STATES = {
    "lock_wait": (20, "sync.Mutex.Lock", r"0x[0-9a-f]+, held by goroutine 1"),
    "cond_waiter": (20, "sync.Cond.Wait", r"0x[0-9a-f]+"),
    "sem_waiter": (10, "semacquire", r"0x[0-9a-f]+"),
    "rw_waiter": (5, "sync.RWMutex.Lock", r"0x[0-9a-f]+"),
    "barrier_waiter": (5, "barrier", r"0x[0-9a-f]+"),
    "joiner": (5, "join", r"goroutine \d+"),
    "sleeper": (15, "sleep", r"for another 5\dm\d+s"),
    "pipe_reader": (10, "IO wait", r"fd \d+ pipe:\[\d+\]"),
    "acceptor": (5, "IO wait", r"fd \d+ 127\.0\.0\.1:\d+ listening"),
    "poller": (3, "IO wait, poll", r"fd \d+ unix socket and 1 more"),
    "spinner": (1, "running", r""),
    "in_kernel": (1, "syscall", r"wait4"),
}
GS = 101                        # with main


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Failure(what)


def tool(*args, **kw):
    return subprocess.run([kw.pop("command", GOSSAMER)] + [str(a) for a in args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, text=True, **kw)


def good(*args, **kw):
    r = tool(*args, **kw)
    check(r.returncode == 0 and r.stderr == "",
          "%s: status %d, %s" % (" ".join(map(str, args)), r.returncode, r.stderr))
    return r.stdout


def refused(want, *args, **kw):
    """Status 1, nothing on standard output, and one line on standard error that matches."""
    r = tool(*args, **kw)
    what = "%s: status %d, %r" % (" ".join(map(str, args)), r.returncode, r.stderr)
    check(r.returncode == 1, what)
    check(r.stdout == "", what + ", and output %r" % r.stdout[:100])
    check(re.fullmatch("gossamer: " + want + "\n", r.stderr), what + ", wanted " + want)


class Program:
    """A program under gossamer that has said that it is ready."""

    def __init__(self, name, *args, procs=2, env=None, wrapper=None, **kw):
        cmd = wrapper if wrapper is not None else [GOSSAMER, "-p", str(procs)]
        self.p = subprocess.Popen(cmd + [os.path.join(tmp, name)] + [str(a) for a in args], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})), **kw)
        self.pid = self.p.pid
        check(self.p.stdout.readline() == "ready\n", name + " did not get ready")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()

    def settle(self):
        """Until every thread is where it will stay."""
        end = time.monotonic() + LIMIT
        while True:
            j = json.loads(good("ps", "--json", self.pid))
            by = {}
            for g in j["gs"]:
                key = (g["start"], g["state"])
                by[key] = by.get(key, 0) + 1
            if all(by.get((f, state), 0) >= n for f, (n, state, _) in STATES.items()):
                return j
            check(time.monotonic() < end, "never settled: %s" % by)
            time.sleep(0.05)


def build(name):
    subprocess.run(CC + ["-g", "-O1", "-pthread", "-o", os.path.join(tmp, name), os.path.join(HERE, name + ".c")],
                   check=True)


def run(tests, *programs):
    """Runs the functions test_* in the order of their lines; those with a parameter get a live program `states`."""
    global tmp
    if tool("ps", "1").stderr.endswith("(it was made without libunwind, libdw or zlib)\n"):
        print("the commands are not in this build")
        return 77
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="gossamer-tool-") as tmp:
        os.chmod(tmp, 0o755)
        build("states")
        build("busy")
        for name in programs:
            build(name)
        with Program("states") as live:
            for name, test in sorted(((n, t) for n, t in tests.items() if n.startswith("test_")),
                                     key=lambda x: x[1].__code__.co_firstlineno):
                if sys.argv[1:] and name[5:] not in sys.argv[1:]:
                    continue
                try:
                    test(*([live] if test.__code__.co_argcount else []))
                    print("ok " + name[5:])
                    passed += 1
                except Skip as e:
                    print("skip %s: %s" % (name[5:], e))
                    skipped += 1
                except (Failure, OSError, ValueError, KeyError, subprocess.SubprocessError) as e:
                    print("FAIL %s: %r" % (name[5:], e))
                    failed += 1
                sys.stdout.flush()
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0

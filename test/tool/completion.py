#!/usr/bin/env python3
"""The completions for bash and zsh: what they offer, with a real shell, and that they know all options."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tooltest
from tooltest import GOSSAMER, LIMIT, TOP, Failure, Program, Skip, check

BASH = os.path.join(TOP, "completions", "gossamer.bash")
COMMANDS = ("check", "compare", "ps", "stacks", "profile", "top")

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_gossamer 2>/dev/null; printf '%s\\n' "${COMPREPLY[@]}"
"""


def offers(*words):
    """What bash offers for the last word."""
    r = subprocess.run(["bash", "--norc", "-c", ASK, "bash", BASH, "gossamer", *map(str, words)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=LIMIT, text=True)
    check(r.returncode == 0 and r.stderr == "", "%s: %s" % (words, r.stderr))
    return set(r.stdout.split("\n")) - {""}


def expect(want, *words):
    got = offers(*words)
    check(got == set(want), "%s: %s, wanted %s" % (words, sorted(got), sorted(want)))


def test_bash_words():
    check(set(COMMANDS) <= offers(""), "commands")
    expect(["profile"], "profi")
    expect(["--children", "--require", "--help", "--version"], "--")
    expect(["keep", "drop"], "--children", "")
    expect(["drop"], "--children", "=", "d")
    expect(["keep", "drop"], "--children", "=")
    expect(["64K"], "-p", "4", "-s", "6")
    expect(["goid", "wait", "cpu", "runs", "state", "name", "start"], "ps", "--sort", "")
    expect(["wait"], "top", "-b", "--sort", "=", "w")
    expect([], "ps", "1", "")
    expect(["--seconds", "--svg"], "profile", "--cpu", "--s")


def test_bash_programs():
    with tempfile.TemporaryDirectory() as d:
        for name in ("gossamer-test-a", "gossamer-test-b"):
            with open(os.path.join(d, name), "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n")
            os.chmod(os.path.join(d, name), 0o755)
        want = [os.path.join(d, "gossamer-test-a"), os.path.join(d, "gossamer-test-b")]
        for before in ([], ["--"], ["-p", "4"], ["--children", "=", "drop"], ["check"], ["compare"],
                       ["compare", "-n", "3", "--"]):
            expect(want, *before, os.path.join(d, "gossamer-test-"))
        # behind the program: its arguments, not our options
        expect([], "--", want[0], "--he")
        expect([], want[0], "--he")
        expect(want, "stacks", "--core", os.path.join(d, "gossamer-"))
        expect(want, "stacks", "--core", "core", os.path.join(d, "gossamer-"))


def test_bash_pids(live):
    for command in ("ps", "stacks", "profile", "top"):
        got = offers(command, "")
        check(str(live.pid) in got and str(os.getpid()) not in got, "%s: %s" % (command, got))
    check(str(live.pid) in offers("stacks", "-g", "1", ""), "behind an option")


def usage(*args):
    return subprocess.run([GOSSAMER, *args, "--help"], stdout=subprocess.PIPE, timeout=LIMIT, text=True,
                          check=True).stdout


def test_all_options():
    """Each option that --help shows is offered, and none else."""
    for command in ("", "compare", "ps", "stacks", "profile", "top"):
        text = usage(*([command] if command else []))
        shown = set(re.findall(r"(?<![\w-])(--[a-z]+)", text))
        got = offers(*([command] if command else []), "--")
        check(got - {"--help"} == shown - {"--help"}, "%s: offers %s, --help shows %s" % (command, got, shown))


# ---- zsh ----

class Zsh:
    """An interactive zsh that knows no more than our function."""

    def __init__(self, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=home, ZDOTDIR=home, TERM="dumb", PS1="> ")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.text = ""
        self.line("fpath=(%s $fpath); autoload -Uz compinit && compinit -u -D; setopt no_list_beep; PS1='> '; "
                  "zstyle ':completion:*' list-prompt ''; LISTMAX=10000; echo lo''aded" %
                  os.path.join(TOP, "completions"))
        self.until("loaded")

    def line(self, text):
        os.write(self.fd, (text + "\n").encode())

    def until(self, want):
        end = time.monotonic() + LIMIT
        while not re.search(want, self.text, re.S):
            check(time.monotonic() < end, "no %r: %r" % (want, self.text[-500:]))
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError as e:
                    raise Failure("zsh ended: %r" % self.text[-500:]) from e

    def completes(self, text, want):
        self.text = ""
        os.write(self.fd, ("gossamer " + text + "\t").encode())
        self.until(want)
        os.write(self.fd, b"\x15")      # the line away

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_zsh(live):
    if shutil.which("zsh") is None:
        raise Skip("no zsh")
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, "gossamer-test"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        os.chmod(os.path.join(home, "gossamer-test"), 0o755)
        z = Zsh(home)
        try:
            z.completes("profi", r"gossamer profile")
            z.completes("profile --gro", r"gossamer profile --growth")
            z.completes("--children=dr", r"--children=drop")
            z.completes("compare --ru", r"gossamer compare --runs")
            z.completes("ps --sort go", r"--sort goid")
            z.completes("stacks %d" % (live.pid // 10), r"\b%d( -- states)?\b" % live.pid)
            z.completes("check %s/gossamer-te" % home, r"check %s/gossamer-test" % re.escape(home))
        finally:
            z.end()


if __name__ == "__main__":
    for shell in ("bash",):
        if shutil.which(shell) is None:
            print("no " + shell)
            sys.exit(77)
    sys.exit(tooltest.run(globals()))

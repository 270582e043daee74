"""gdb commands for programs on Gs: info goroutines, goroutine N COMMAND, goroutine all COMMAND.

gdb knows the kernel threads only. Where a G stands that does not run is in its saved context, which the library
describes in gossamer_layout (see gossamer.h). So that the frames of such a G can be looked at in a core file as well,
where registers cannot be set, an unwinder says for a moment that the newest frame of the selected thread was called
from there; that frame itself, with those that were inlined into it, is left out of what is printed, and the numbers
of frames that the user gives and reads are those without it.

gdb loads this by itself where it lies in its auto-load directory under the path of libgossamer.so; otherwise:
source .../libgossamer.so-gdb.py
"""

import re
import struct

import gdb
import gdb.unwinder

FIELDS = (
    ("g", "size alllink sp m lockedm start joining stklo stkhi goid tid status waitreason waiton waitsince timerwhen "
          "runs cpusampled cpuexact name"),
    ("waiter", "addr requeued"),
    ("m", "size alllink link curg p oldp lockedg id tid lostp spinning counters"),
    ("p", "size m id status runqhead runqtail runnext ngfree ntimers"),
    ("sched", "allgs allms midle mdead runqsize nmspinning boottime now counters"),
    ("", "mutexowner"),
    ("context", "rbx rbp r12 r13 r14 r15 rip rsp"),
)
VERSION = 2                     # GOSSAMER_LAYOUT_VERSION
STATES = ("idle", "runnable", "running", "syscall", "waiting", "dead")
RUNNING, SYSCALL, WAITING, DEAD = 2, 3, 4, 5
ON_ADDRESS, ON_MUTEX, ON_JOIN, ON_FD, ON_END = 1, 2, 3, 4, 6
LOST_TAKEN = 2                  # m.lostp


def read(addr, fmt):
    size = struct.calcsize("<" + fmt)
    got = struct.unpack("<" + fmt, gdb.selected_inferior().read_memory(addr, size).tobytes())
    return got[0] if len(got) == 1 else got


def text(data):
    """As it can be printed: a terminal might obey what is in a name."""
    name = data.split(b"\0")[0].decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in name)


class Layout:
    """gossamer_layout of the process, or a gdb.GdbError that says what is wrong."""

    def __init__(self):
        try:
            at = int(gdb.parse_and_eval("(unsigned long)&gossamer_layout"))
            magic, version, size = read(at, "8sII")
        except gdb.error:
            raise gdb.GdbError("libgossamer.so is not loaded in this process")
        if magic != b"gossamer" or version != VERSION:
            raise gdb.GdbError("libgossamer.so has layout version %d, this script reads %d" % (version, VERSION))
        self.active, self.gomaxprocs, self.sched_at, self.allp = read(at + 16, "4Q")
        at += 48
        for group, names in FIELDS:
            for name in names.split():
                setattr(self, (group + "_" + name) if group else name, read(at, "I"))
                at += 4
        self.waits = [(text(name), on) for name, on in (read(at + 32 * i, "28sI") for i in range(32))]
        if read(self.active, "i") == 0:
            raise gdb.GdbError("the process has made no thread yet")


class G:
    def __init__(self, layout, at):
        self.l, self.at = layout, at
        self.goid = read(at + layout.g_goid, "q")
        self.status = read(at + layout.g_status, "I")
        self.reason = read(at + layout.g_waitreason, "B")
        self.waiton = read(at + layout.g_waiton, "Q")
        self.start = read(at + layout.g_start, "Q")
        self.name = text(read(at + layout.g_name, "16s"))

    def on_thread(self):
        return self.status in (RUNNING, SYSCALL)

    def tid(self):
        return read(read(self.at + self.l.g_m, "Q") + self.l.m_tid, "i")

    def thread(self):
        tid = self.tid()
        for t in gdb.selected_inferior().threads():
            if t.ptid[1] == tid:
                return t
        raise gdb.GdbError("goroutine %d: thread %d is not there" % (self.goid, tid))

    def ended(self):
        return self.status == WAITING and self.l.waits[self.reason][1] == ON_END

    def taken(self):
        """It sleeps in a call that nobody announced, and its P was taken."""
        m = read(self.at + self.l.g_m, "Q")
        return (self.status == RUNNING and m != 0 and read(m + self.l.m_curg, "Q") == self.at and
                read(m + self.l.m_lostp, "I") == LOST_TAKEN)

    def registers(self):
        """Where it goes on."""
        sp = read(self.at + self.l.g_sp, "Q")
        regs = {r: read(sp + getattr(self.l, "context_" + r), "Q") for r in "rbx rbp r12 r13 r14 r15 rip".split()}
        regs["rsp"] = sp + self.l.context_rsp
        return regs

    def state(self):
        if self.status == WAITING:
            return self.l.waits[self.reason][0]
        if self.taken():
            return STATES[SYSCALL]
        return STATES[self.status] if self.status < len(STATES) else "?"

    def detail(self):
        if self.on_thread():
            return "thread %d" % self.tid()
        on = self.l.waits[self.reason][1] if self.status == WAITING else 0
        try:
            if on == ON_FD:
                return "fd %d" % (self.waiton & 0xffffffff)
            if on == ON_JOIN:
                return "goroutine %d" % read(read(self.at + self.l.g_joining, "Q") + self.l.g_goid, "q")
            if on == ON_ADDRESS:
                return "0x%x" % read(self.waiton + self.l.waiter_addr, "Q")
            if on == ON_MUTEX:
                mutex = read(self.waiton + self.l.waiter_addr, "Q")
                owner = read(mutex + self.l.mutexowner, "i")
                for g in all_gs(self.l):
                    if owner != 0 and read(g.at + self.l.g_tid, "i") == owner:
                        return "0x%x, held by goroutine %d" % (mutex, g.goid)
                return "0x%x" % mutex
        except gdb.MemoryError:
            pass
        return ""

    def function(self):
        if self.start == 0:
            return "main"
        m = re.match(r"(\S+)", gdb.execute("info symbol 0x%x" % self.start, to_string=True))
        return m.group(1) if m and m.group(1) != "No" else "0x%x" % self.start


def all_gs(layout):
    """The living ones, by goid."""
    found = []
    at = read(layout.sched_at + layout.sched_allgs, "Q")
    while at != 0:
        g = G(layout, at)
        if g.status != DEAD:
            found.append(g)
        at = read(at + layout.g_alllink, "Q")
    return sorted(found, key=lambda g: g.goid)


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = gdb.Value(sp), gdb.Value(pc)


class Unwinder(gdb.unwinder.Unwinder):
    """While `regs` is set: the frame with `newest` was called from there."""

    def __init__(self):
        super().__init__("gossamer")
        self.regs = self.newest = None

    def __call__(self, pending):
        if self.regs is None:
            return None
        sp, pc = int(pending.read_register("rsp")), int(pending.read_register("rip"))
        if (sp & (1 << 64) - 1, pc & (1 << 64) - 1) != self.newest:
            return None
        info = pending.create_unwind_info(FrameId(sp, pc))
        u64 = gdb.selected_inferior().architecture().integer_type(64, False)
        for name, value in self.regs.items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(struct.pack("<Q", value), u64).cast(kind))
        return info


unwinder = Unwinder()
gdb.unwinder.register_unwinder(None, unwinder, replace=True)


def translate(command, hidden):
    """The command with the numbers of frames, and counts from the newest, as they are with the hidden ones."""
    more = lambda m: m.group(1) + str(int(m.group(2)) + hidden)
    if re.match(r"(bt|backtrace|where)\b", command):
        return re.sub(r"( )(\d+)$", more, command)
    if re.match(r"(f|frame) +apply +level +\d", command):
        return re.sub(r"(level +)(\d+)", more, re.sub(r"(level +\d+-)(\d+)", more, command, count=1), count=1)
    if re.match(r"(f|frame) +apply +\d", command):
        return re.sub(r"(apply +)(\d+)", more, command, count=1)
    return re.sub(r"\A((?:f|frame|select-frame|info +frame)(?: +level)? +)(\d+)$", more, command)


def renumber(out, hidden):
    """What a command has printed, without the hidden frames."""
    parts = re.split(r"^(?=#\d+ )", out, flags=re.M)
    kept = [] if re.match(r"#\d+ ", parts[0]) else [parts.pop(0)]
    for part in parts:
        m = re.match(r"#(\d+)( *)", part)
        if int(m.group(1)) >= hidden:
            kept.append("#%-*d" % (len(m.group(0)) - 1, int(m.group(1)) - hidden) + part[m.end():])
    return "".join(kept)


def within(g, command):
    """Runs the command as on g's stack; what it printed."""
    if g.on_thread():
        g.thread().switch()
        return gdb.execute(command, to_string=True)
    if g.ended():
        raise gdb.GdbError("goroutine %d has ended; there is no stack" % g.goid)
    word = re.match(r"[\w-]*", command).group(0)
    if word == "down" and not re.search(r"-\d+$", command):
        raise gdb.GdbError("Bottom (innermost) frame selected; you cannot go down.")
    frame = gdb.newest_frame()
    unwinder.newest = (int(frame.read_register("rsp")) & (1 << 64) - 1, int(frame.read_register("rip")) & (1 << 64) - 1)
    unwinder.regs = g.registers()
    try:
        gdb.invalidate_cached_frames()
        frame, hidden = gdb.newest_frame(), 1
        while frame.type() == gdb.INLINE_FRAME:         # its caller is the function that it was inlined into
            frame, hidden = frame.older(), hidden + 1
        older = frame.older()
        if older is None:
            raise gdb.GdbError("goroutine %d: its context cannot be followed" % g.goid)
        older.select()
        command = translate(command, hidden)
        silently = re.sub(r"\A(up|down)(?= |$)", r"\1-silently", command)
        silently = re.sub(r"\A(f|frame)(?= +(?!apply\b| ))", "select-frame", silently)
        out = gdb.execute(silently, to_string=True)
        if silently != command:                         # what these print cannot be had as a string
            out = gdb.execute("frame", to_string=True)
    finally:
        unwinder.regs = None
        gdb.invalidate_cached_frames()
    if word in ("bt", "backtrace", "where", "f", "frame", "faas", "up", "down"):
        out = renumber(out, hidden)
    return out


class InfoGoroutines(gdb.Command):
    """List the goroutines of a program that gossamer runs: id, state, name, start function, what it waits for."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STACK)

    def invoke(self, _arg, _tty):
        layout = Layout()
        thread = gdb.selected_thread()
        for g in all_gs(layout):
            here = g.on_thread() and thread is not None and g.tid() == thread.ptid[1]
            gdb.write("%s %6d  %-20s %-15s %-24s %s\n" % ("*" if here else " ", g.goid, g.state(), g.name, g.function(),
                                                        g.detail()))


class Goroutine(gdb.Command):
    """Run a command on the stack of a goroutine: goroutine ID COMMAND, goroutine all COMMAND.

The command is bt if there is none. Registers and frames are those of the goroutine only while it runs."""

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK)

    def invoke(self, arg, _tty):
        words = arg.split(None, 1)
        if not words or not (words[0] == "all" or words[0].isdigit()):
            raise gdb.GdbError("usage: goroutine ID|all [COMMAND]")
        command = words[1] if len(words) > 1 else "bt"
        gs = all_gs(Layout())
        if words[0] != "all":
            gs = [g for g in gs if g.goid == int(words[0])]
            if not gs:
                raise gdb.GdbError("no goroutine %s" % words[0])
        thread = gdb.selected_thread()
        try:
            for g in gs:
                if words[0] == "all":
                    detail = g.detail()
                    gdb.write("\ngoroutine %d [%s%s]: %s\n" % (g.goid, g.state(), ", " + detail if detail else "", g.name))
                try:
                    gdb.write(within(g, command))
                except (gdb.error, gdb.GdbError) as e:
                    if words[0] != "all":
                        raise gdb.GdbError(str(e))      # gdb.error would show a trace of this script
                    gdb.write("%s\n" % e)
        finally:
            if thread is not None and thread.is_valid():
                thread.switch()


InfoGoroutines()
Goroutine()

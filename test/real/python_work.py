"""Work for python.sh on threads; prints results which do not depend on timing."""
import concurrent.futures
import hashlib
import os
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time


def run(n, target):
    """n threads of target(i); returns what they returned, in order."""
    out = [None] * n

    def body(i):
        out[i] = target(i)
    ts = [threading.Thread(target=body, args=(i,)) for i in range(n)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    return out


def counters():
    lock, total, local = threading.Lock(), [0], threading.local()

    def body(i):
        local.n = 0
        for _ in range(500):
            with lock:
                total[0] += 1
            local.n += i
        return local.n
    return sum(run(200, body)), total[0]


def queues():
    """8 producers and 8 consumers on a short queue; the last producer puts the end marks in behind everything."""
    q, lock, left = queue.Queue(maxsize=16), threading.Lock(), [8]

    def body(i):
        if i < 8:
            for k in range(2000):
                q.put(i * 2000 + k)
            with lock:
                left[0] -= 1
                last = left[0] == 0
            if last:
                for _ in range(8):
                    q.put(None)
            return 0
        s = 0
        while (x := q.get()) is not None:
            s += x
            q.task_done()
        q.task_done()
        return s
    total = sum(run(16, body))
    q.join()
    return total


def pool():
    with concurrent.futures.ThreadPoolExecutor(32) as ex:
        fs = ex.map(lambda i: hashlib.sha256(random.Random(i).randbytes(20000)).digest(), range(500))
        good = hashlib.sha256(b"".join(fs)).hexdigest()
        bad = ex.submit(lambda: 1 // 0)
        try:
            bad.result()
        except ZeroDivisionError as e:
            return good, repr(e)


def waits():
    """Events, barriers, semaphores, conditions with and without time-outs."""
    ev, bar, sem, cond = threading.Event(), threading.Barrier(20), threading.Semaphore(3), threading.Condition()
    inside, peak, order = [0], [0], []
    guard = threading.Lock()

    def body(i):
        first = ev.wait(30)
        bar.wait(30)
        with sem:
            with guard:
                inside[0] += 1
                peak[0] = max(peak[0], inside[0])
            time.sleep(0.002)
            with guard:
                inside[0] -= 1
        with cond:
            cond.wait_for(lambda: len(order) == i, 30)
            order.append(i)
            cond.notify_all()
        return first
    timer = threading.Timer(0.05, ev.set)
    timer.start()
    got = run(20, body)
    timer.join()
    late = threading.Event().wait(0.02)
    try:
        queue.Queue().get(timeout=0.02)
        empty = False
    except queue.Empty:
        empty = True
    return all(got), peak[0] <= 3, order == list(range(20)), late, empty, threading.Lock().acquire() and True


def children():
    def body(i):
        return subprocess.run(["/bin/sh", "-c", f"cat; exit {i}"], input=b"%d" % i, stdout=subprocess.PIPE, check=False)
    return [(r.returncode, r.stdout) for r in run(16, body)]


def forks():
    """fork while other threads run; the child makes threads of its own."""
    stop = threading.Event()
    ts = [threading.Thread(target=stop.wait) for _ in range(10)]
    for t in ts:
        t.start()
    codes = []
    for i in range(5):
        pid = os.fork()
        if pid == 0:
            os._exit(10 + sum(run(4, lambda k: k)) + i)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stop.set()
    for t in ts:
        t.join()
    return codes


def signals():
    """A signal breaks main's wait; its handler runs on main."""
    seen = []
    signal.signal(signal.SIGUSR1, lambda n, f: seen.append(threading.current_thread() is threading.main_thread()))
    t = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    t.start()
    time.sleep(0.2)
    t.join()
    return seen


def sockets():
    """An echo server, a thread a connection, and 32 clients of it, all in this process."""
    srv = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve(c):
        with c:
            while data := c.recv(65536):
                c.sendall(data)

    def accept():
        ts = []
        for _ in range(32):
            ts.append(threading.Thread(target=serve, args=(srv.accept()[0],)))
            ts[-1].start()
        for t in ts:
            t.join()
    acceptor = threading.Thread(target=accept)
    acceptor.start()

    def client(i):
        body = random.Random(i).randbytes(100000)
        with socket.create_connection(srv.getsockname()) as c:
            sender = threading.Thread(target=lambda: (c.sendall(body), c.shutdown(socket.SHUT_WR)))
            sender.start()
            back = bytearray()
            while data := c.recv(65536):
                back += data
            sender.join()
        return bytes(back) == body
    good = sum(run(32, client))
    acceptor.join()
    srv.close()
    return good


def main():
    if sys.argv[1:] == ["kernel-threads"]:
        stop = threading.Event()
        ts = [threading.Thread(target=stop.wait) for _ in range(60)]
        for t in ts:
            t.start()
        print(len(os.listdir("/proc/self/task")))
        stop.set()
        return
    sys.setswitchinterval(0.001)
    for f in counters, queues, pool, waits, children, forks, signals, sockets:
        print(f.__name__, f(), flush=True)
    print("threads left", threading.active_count())


main()

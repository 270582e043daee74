"""Sets and gets KEYS keys over CONNECTIONS connections, pipelined; prints the server's counters.
usage: memcached_client.py PORTFILE CONNECTIONS KEYS"""
import os
import socket
import sys
import threading
import time

BATCH = 500


def port_of(portfile):
    """memcached writes "TCP INET: PORT" there once it listens."""
    for _ in range(600):
        if os.path.exists(portfile):
            with open(portfile, encoding="ascii") as f:
                for line in f:
                    if line.startswith("TCP INET: "):
                        return int(line.split()[-1])
        time.sleep(0.05)
    sys.exit("the server does not listen")


def value(k):
    return (b"%d-" % (k * 7919)) * (1 + k % 40)


class Conn:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.sock.makefile("rb")

    def ask(self, request, want):
        """Sends while a second thread's worth of answers comes back: the request is longer than the buffers."""
        sender = threading.Thread(target=self.sock.sendall, args=(request,))
        sender.start()
        got = self.file.read(len(want))
        sender.join()
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), len(got))
            raise ValueError(f"wrong answer at byte {at} of {len(want)}: {got[at:at + 40]!r}, not {want[at:at + 40]!r}")


def client(port, keys, errors):
    try:
        c = Conn(port)
        for i in range(0, len(keys), BATCH):
            part = keys[i:i + BATCH]
            c.ask(b"".join(b"set key%d 0 0 %d\r\n%b\r\n" % (k, len(value(k)), value(k)) for k in part), b"STORED\r\n" * len(part))
        for i in range(0, len(keys), BATCH):
            part = keys[i:i + BATCH]
            c.ask(b"".join(b"get key%d\r\n" % k for k in part),
                  b"".join(b"VALUE key%d 0 %d\r\n%b\r\nEND\r\n" % (k, len(value(k)), value(k)) for k in part))
        # one counter for all connections: no increment may be lost
        c.sock.sendall(b"incr total 1 noreply\r\n" * BATCH)
        c.ask(b"mn\r\n", b"MN\r\n")
    except Exception as e:          # whatever it is, it is the result
        errors.append(repr(e))


def main():
    port, n, keys = port_of(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    first = Conn(port)
    first.ask(b"set total 0 0 1\r\n0\r\n", b"STORED\r\n")
    errors = []
    ts = [threading.Thread(target=client, args=(port, list(range(i, keys, n)), errors)) for i in range(n)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    if errors:
        sys.exit(errors[0])
    first.ask(b"incr total 0\r\n", b"%d\r\n" % (n * BATCH))
    first.sock.sendall(b"stats\r\n")
    for line in iter(first.file.readline, b"END\r\n"):
        name, val = line.split()[1:3]
        if name in (b"cmd_get", b"cmd_set", b"get_hits", b"get_misses", b"curr_items", b"total_items", b"threads", b"evictions"):
            print(name.decode(), val.decode())


main()

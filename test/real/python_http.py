"""A threaded HTTP server, and the clients that check what it serves.
usage: python_http.py serve PORTFILE | load PORTFILE CLIENTS REQUESTS"""
import hashlib
import http.client
import http.server
import os
import random
import signal
import sys
import threading
import time


def body(path):
    seed = int(path.rsplit("/", 1)[1])
    return random.Random(seed).randbytes(1000 + seed * 37 % 90000)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served, lock = 0, threading.Lock()

    def reply(self, data):
        with Handler.lock:
            Handler.served += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Sum", hashlib.sha256(data).hexdigest())
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.reply(body(self.path))

    def do_POST(self):
        self.reply(self.rfile.read(int(self.headers["Content-Length"]))[::-1])

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def serve(portfile):
    server = Server(("127.0.0.1", 0), Handler)
    signal.signal(signal.SIGTERM, lambda n, f: threading.Thread(target=server.shutdown).start())
    with open(portfile + ".new", "w", encoding="ascii") as f:
        f.write(str(server.server_address[1]))
    os.rename(portfile + ".new", portfile)
    server.serve_forever(poll_interval=0.1)
    print("served", Handler.served, flush=True)


def load(portfile, clients, requests):
    for _ in range(600):
        if os.path.exists(portfile):
            break
        time.sleep(0.05)
    with open(portfile, encoding="ascii") as f:
        port = int(f.read())
    errors = []

    def client(c):
        try:
            conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for r in range(requests):
                seed = c * requests + r
                want = body(f"/{seed}")
                if r % 5 == 4:
                    conn.request("POST", "/", body=want)
                    want = want[::-1]
                else:
                    conn.request("GET", f"/{seed}")
                got = conn.getresponse()
                data = got.read()
                if got.status != 200 or data != want or got.headers["X-Sum"] != hashlib.sha256(want).hexdigest():
                    errors.append(f"client {c} request {r}: wrong answer, {len(data)} of {len(want)} bytes")
                if r % 10 == 9:
                    conn.close()    # and connects anew
            conn.close()
        except Exception as e:      # whatever it is, it is the result
            errors.append(f"client {c}: {e!r}")
    ts = [threading.Thread(target=client, args=(c,)) for c in range(clients)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    print(errors[0] if errors else "all right")
    return 1 if errors else 0


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    sys.exit(load(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

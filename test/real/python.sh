#!/bin/bash
# CPython: threads, queues, pools, timers, children; and its threaded HTTP server under 32 concurrent clients.
. "$(dirname "$0")/lib.sh"
py=$(elf python3) || skip "no python3 that is a real program (scripts and shims do not count)"

same "1 2 8" work "$py" -u "$real/python_work.py" || fail "python_work.py fails natively: $(tail -n 1 "$tmp/err")"

# 60 blocked threads must not be 60 kernel threads: otherwise this whole test compares native with native
for p in $(sides 2); do
    k=$(under "$p" "$py" "$real/python_work.py" kernel-threads) || fail "kernel-threads at $p P: failed"
    [ "$k" -lt 40 ] || fail "60 blocked threads are $k kernel threads at $p P: not under gossamer at all"
done

for p in native $(sides 2 8); do
    rm -f "$tmp/port"
    serve "$p" "$py" "$real/python_http.py" serve "$tmp/port" >"$tmp/server.out" 2>&1 </dev/null &
    server=$!
    pids+=("$server")
    under native "$py" "$real/python_http.py" load "$tmp/port" 32 25 >"$tmp/load.out" 2>&1 </dev/null ||
        { tail -n 3 "$tmp/load.out" "$tmp/server.out"; fail "HTTP at $p P: $(tail -n 1 "$tmp/load.out")"; }
    kill -TERM "$server"
    wait "$server"
    rc=$?
    pids=()
    [ $rc = 0 ] || { tail -n 3 "$tmp/server.out"; fail "HTTP server at $p P: exit status $rc after SIGTERM"; }
    # every request was counted once
    [ "$(tail -n 1 "$tmp/server.out")" = "served 800" ] || fail "HTTP server at $p P: $(tail -n 1 "$tmp/server.out")"
done

#!/bin/bash
# memcached -t 4: 100,000 keys set and read back, pipelined, over several connections; then its own counters must agree.
. "$(dirname "$0")/lib.sh"
need memcached
py=$(elf python3) || skip "no python3 for the client"
user=()
[ "$(id -u)" = 0 ] && user=(-u root)

for p in native $(sides 1 2 8); do
    rm -f "$tmp/port"
    MEMCACHED_PORT_FILENAME=$tmp/port serve "$p" \
        memcached -t 4 -m 256 -c 256 -l 127.0.0.1 -p -1 -U 0 ${user[@]+"${user[@]}"} >"$tmp/server.out" 2>&1 </dev/null &
    server=$!
    pids+=("$server")
    under native "$py" "$real/memcached_client.py" "$tmp/port" 8 100000 >"$tmp/out.$p" 2>&1 </dev/null ||
        { tail -n 3 "$tmp/server.out" "$tmp/out.$p"; fail "memcached at $p P: $(tail -n 1 "$tmp/out.$p")"; }
    kill -TERM "$server"
    wait "$server"
    rc=$?
    pids=()
    [ "$p" = native ] && nrc=$rc
    [ $rc = "$nrc" ] || { tail -n 3 "$tmp/server.out"; fail "memcached at $p P: exit status $rc after SIGTERM, natively $nrc"; }
    cmp -s "$tmp/out.native" "$tmp/out.$p" || { diff "$tmp/out.native" "$tmp/out.$p"; fail "memcached at $p P: other results than natively"; }
done

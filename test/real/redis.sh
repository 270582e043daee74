#!/bin/bash
# redis-server with an I/O thread (which spins, as main does while it waits for it): redis-benchmark, the same data by DEBUG DIGEST, BGSAVE (fork) and AOF rewrite under load, restart.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
need redis-server
need redis-benchmark
need redis-cli
n=4000 ps="1 2 8"
[ "$LONG" = 1 ] && n=100000
bin=$(command -v redis-server) # its name says that it is the server, not a checker
LC_ALL=C

redis_up() {
    start "$p" "$bin" --port "$port" --bind 127.0.0.1 --dir "$dir" --save '' --appendonly yes --appendfsync everysec --io-threads 2 --io-threads-do-reads yes \
        --logfile "$dir/log" --daemonize no --enable-debug-command yes
    for i in $(seq 100); do [ "$(cli ping 2>/dev/null)" = PONG ] && return; sleep 0.1; done
    tail -n 5 "$dir/log"
    fail "redis at $p: no answer"
}
cli() { timeout -k 5 60 redis-cli -p "$port" "$@"; }

for p in native $(sides $ps); do
    dir=$tmp/redis.$p port=$(freeport)
    mkdir "$dir"
    : >"$tmp/server.out"
    redis_up
    awk 'BEGIN { for (i = 0; i < 20000; i++) { print "SET key:" i " " i * 7; print "LPUSH list:" i % 50 " " i; print "HSET hash:" i % 30 " f" i " v" } }' | cli >"$dir/fill" || fail "redis at $p: cannot fill"
    for i in $(seq 50); do cli del "gone:$i" >/dev/null; done
    cli bgsave >/dev/null
    redis-benchmark -p "$port" -c 128 -n "$n" -P 4 -t get,incr -q --csv >"$dir/bench" 2>&1 || { cat "$dir/bench"; fail "redis at $p: redis-benchmark"; }
    cli bgrewriteaof >/dev/null
    cli flushall async >/dev/null
    awk 'BEGIN { for (i = 0; i < 20000; i++) { print "SET key:" i " " i * 7; print "LPUSH list:" i % 50 " " i; print "HSET hash:" i % 30 " f" i " v" } }' | cli >/dev/null
    cli debug digest >"$dir/digest"
    column "$p" "$(grep -v test "$dir/bench" | cut -d, -f1,2 | tr -d '"' | tr '\n' ' ')per second, $(tasks "$srv") kernel threads, $(peak "$srv") MB"
    kill -TERM "$srv"
    ended || fail "redis at $p: status $? after SIGTERM"
    redis_up
    cli debug digest >>"$dir/digest"
    cli dbsize >>"$dir/digest"
    cmp -s "$tmp/redis.native/digest" "$dir/digest" || { diff "$tmp/redis.native/digest" "$dir/digest"; fail "redis at $p: other data than natively"; }
    cli shutdown >/dev/null 2>&1
    ended || fail "redis at $p: status $? after SHUTDOWN"
    grep -iE 'crash|assert|killed by signal|Background saving error' "$dir/log" && fail "redis at $p: errors in the log"
done
exit 0

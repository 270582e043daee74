#!/bin/bash
# nginx with a pool of threads for its file reads (aio threads): the bytes of the files, reload under load, quit.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
. "$real/servers_web"
need nginx
need curl
need wrk
nginx -V 2>&1 | grep -q -- --with-threads || skip "nginx has no threads"
seconds=3 rounds=4 ps="1 2 8"
[ "${LONG}" = 1 ] && seconds=20 rounds=40 LIMIT=600
bin=$(elf nginx || command -v nginx)
web_up      # for its files; it stays the native one
kill "$webpid"
wait "$webpid"
pids=()

for p in native $(sides $ps); do
    dir=$tmp/nginx.$p webport=$(freeport)
    mkdir "$dir"
    : >"$tmp/server.out"
    nginx_conf "$dir" "$webport" 2 >"$dir/conf"
    start "$p" "$bin" -p "$dir" -e "$dir/err" -c "$dir/conf" -g 'daemon off;'
    listening "$webport"
    wrk -t1 -c256 -d"$seconds" "http://127.0.0.1:$webport/f29" >"$dir/wrk" 2>&1 || { cat "$dir/wrk"; fail "nginx at $p: wrk"; }
    grep -E 'Socket errors|Non-2xx' "$dir/wrk" && fail "nginx at $p: errors under load"
    k=0 m=0
    for c in $(pgrep -P "$srv"); do
        n=$(tasks "$c")
        [ "$n" -gt $k ] && k=$n
        m=$(echo "$m $(peak "$c")" | awk '{ print $1 + $2 }')
    done
    column "$p" "$(sed -n 's/^Requests.sec: *//p' "$dir/wrk") requests per second, $k kernel threads a worker, workers $m MB"
    bad=$(checked "$rounds")
    [ -z "$bad" ] || { tail -n 5 "$dir/err"; fail "nginx at $p: $bad"; }
    checked "$rounds" >"$dir/bad" & load=$!
    for i in 1 2 3; do
        sleep 0.3
        kill -HUP "$srv"
    done
    wait $load
    [ -s "$dir/bad" ] && { tail -n 5 "$dir/err"; fail "nginx at $p: across reloads: $(cat "$dir/bad")"; }
    kill -QUIT "$srv"
    ended
    rc=$?
    [ $rc = 0 ] || fail "nginx at $p: status $rc after SIGQUIT"
    grep -E '\[(alert|crit|emerg)\]|exited on signal' "$dir/err" && fail "nginx at $p: errors in the log"
done
exit 0

#!/bin/bash
# tinyproxy, a thread for each client: files through it, also by CONNECT, with 64 and more clients at once; SIGTERM.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
. "$real/servers_web"
need tinyproxy
need curl
rounds=3 ps="1 2 8" n=1500
[ "$LONG" = 1 ] && rounds=40 n=20000
bin=$(elf tinyproxy || command -v tinyproxy)
need ab
web_up

for p in native $(sides $ps); do
    port=$(freeport) dir=$tmp/tp.$p
    mkdir "$dir"
    : >"$tmp/server.out"
    tinyproxy_conf "$dir" "$port" >"$dir/conf"
    start "$p" "$bin" -d -c "$dir/conf"
    listening "$port"
    # idle clients: a thread each
    idle=()
    for i in $(seq 150); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && idle+=("$fd"); done
    sleep 0.5
    k=$(tasks "$srv")
    [ "$p" = native ] || [ "$k" -lt 100 ] || fail "150 clients are $k kernel threads at $p: not under gossamer at all"
    ab -q -n $n -c 128 -s 60 -X "127.0.0.1:$port" "http://127.0.0.1:$webport/f17" >"$dir/ab" 2>&1 || { cat "$dir/ab"; fail "tinyproxy at $p: ab"; }
    [ "$(sed -n 's/^Failed requests: *//p' "$dir/ab")" = 0 ] || fail "tinyproxy at $p: $(grep '^Failed' "$dir/ab")"
    column "$p" "$(sed -n 's/^Requests per second: *\([0-9.]*\).*/\1/p' "$dir/ab") requests per second, $(sed -n 's/^ *99% *//p' "$dir/ab") ms at 99 %, $k kernel threads, $(peak "$srv") MB"
    for how in "" -p; do
        # shellcheck disable=SC2086 # an option or none
        bad=$(checked "$rounds" -x "http://127.0.0.1:$port" $how)
        [ -z "$bad" ] || { tail -n 5 "$dir/log"; fail "tinyproxy at $p $how: $bad"; }
    done
    for fd in "${idle[@]}"; do exec {fd}>&-; done
    # nobody listens there: an answer all the same
    [ "$(curl -s -m 30 -o /dev/null -w '%{http_code}' -x "http://127.0.0.1:$port" http://127.0.0.1:1/)" = 500 ] || fail "tinyproxy at $p: an unreachable host is not answered with 500"
    kill -TERM "$srv"
    ended
    rc=$?
    [ "$p" = native ] && nrc=$rc
    [ $rc = "$nrc" ] || fail "tinyproxy at $p: status $rc after SIGTERM, natively $nrc"
done
exit 0

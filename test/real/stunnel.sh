#!/bin/bash
# stunnel4, a thread for each connection: TLS to a web server, with curl, openssl s_client and many idle clients; SIGHUP; SIGTERM.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
. "$real/servers_web"
need stunnel4
need openssl
need curl
rounds=2 ps="1 2 8" n=600
[ "$LONG" = 1 ] && rounds=30 n=20000
bin=$(elf stunnel4 || command -v stunnel4)
need ab
web_up
stunnel_cert

for p in native $(sides $ps); do
    port=$(freeport) dir=$tmp/st.$p
    mkdir "$dir"
    : >"$tmp/server.out"
    stunnel_conf "$dir" "$port" >"$dir/conf"
    start "$p" "$bin" "$dir/conf"
    listening "$port"
    # idle clients first; no line in the log for each, since threads that wait for one file do so in the kernel
    idle=()
    for i in $(seq 150); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && idle+=("$fd"); done
    sleep 0.5
    k=$(tasks "$srv")
    [ "$p" = native ] || [ "$k" -lt 100 ] || fail "150 clients are $k kernel threads at $p: not under gossamer at all"
    ab -q -n $n -c 64 -s 60 "https://127.0.0.1:$port/f17" >"$dir/ab" 2>&1 || { tail -n 3 "$dir/ab" "$dir/log"; fail "stunnel at $p: ab"; }
    [ "$(sed -n 's/^Failed requests: *//p' "$dir/ab")" = 0 ] || fail "stunnel at $p: $(grep '^Failed' "$dir/ab")"
    column "$p" "$(sed -n 's/^Requests per second: *\([0-9.]*\).*/\1/p' "$dir/ab") requests per second, $(sed -n 's/^ *99% *//p' "$dir/ab") ms at 99 %, $k kernel threads, $(peak "$srv") MB"
    bad=$(base=https://127.0.0.1:$port checked "$rounds" --cacert "$tmp/cert")
    [ -z "$bad" ] || { tail -n 5 "$dir/log"; fail "stunnel at $p: $bad"; }
    printf 'GET /f40 HTTP/1.0\r\n\r\n' | timeout 30 openssl s_client -quiet -ign_eof -connect "127.0.0.1:$port" -CAfile "$tmp/cert" 2>/dev/null | tail -c "$(stat -c %s "$tmp/www/f40")" | cmp - "$tmp/www/f40" ||
        fail "stunnel at $p: s_client got other bytes"
    for fd in "${idle[@]}"; do exec {fd}>&-; done
    # it closes its port for a moment, natively too
    kill -HUP "$srv"
    for i in $(seq 200); do
        [ "$(grep -c 'No trusted certificates' "$dir/log")" -ge 2 ] && break
        sleep 0.1
    done
    sleep 0.2
    listening "$port"
    bad=$(base=https://127.0.0.1:$port checked 1 --cacert "$tmp/cert")
    [ -z "$bad" ] || { tail -n 5 "$dir/log"; fail "stunnel at $p after SIGHUP: $bad"; }
    kill -TERM "$srv"
    ended
    rc=$?
    [ "$p" = native ] && nrc=$rc
    [ $rc = "$nrc" ] || fail "stunnel at $p: status $rc after SIGTERM, natively $nrc"
    grep -E 'INTERNAL ERROR|LOG[012]' "$dir/log" && fail "stunnel at $p: errors in the log"
done
exit 0

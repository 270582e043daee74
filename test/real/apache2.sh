#!/bin/bash
# apache2 with mpm_worker, 200 threads a child: files and a script's output under load, graceful restarts (USR1) meanwhile,
# graceful stop; no request may fail that does not fail natively.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
. "$real/servers_web"
need apache2
need curl
need ab
bin=$(elf apache2 || command -v apache2)
[ -e $apache_mods/mod_mpm_worker.so ] || skip "no mpm_worker"
export LC_ALL=C
LIMIT=200 requests=10000 ps="2 8" rounds=5
[ "$LONG" = 1 ] && requests=200000 ps="1 2 8" rounds=100 LIMIT=600
web_files
mkdir "$tmp/cgi"
printf '#!/bin/sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n"; cat; echo done\n' >"$tmp/cgi/echo"
chmod 755 "$tmp/cgi/echo"

apache_up() { start "$1" "$bin" -d "$dir" -f "$dir/conf" -DFOREGROUND; listening "$port"; }
workers() { pgrep -P "$srv" | while read -r c; do [ "$(tasks "$c")" -gt 2 ] && echo "$c"; done; }
# the most kernel threads and the sum of the peaks of memory of the children
measure() {
    local c k=0 m=0 n
    for c in $(workers); do
        n=$(tasks "$c")
        [ "$n" -gt $k ] && k=$n
        m=$(echo "$m $(peak "$c")" | awk '{ print $1 + $2 }')
    done
    echo "$k $m"
}

# one of many clients: every file, each time with the right bytes; with a second argument a script, too (mod_cgid's
# daemon ends at each restart, so that scripts may fail natively)
client() {
    local r i
    for r in $(seq "$1"); do
        for i in 3 17 29 40; do curl -sS -m 60 --fail "http://127.0.0.1:$port/f$i?$r" | cmp -s - "$tmp/www/f$i" || echo "f$i differs or failed"; done
        [ $# = 1 ] || [ "$(curl -sS -m 60 --fail --data-binary "in$r" "http://127.0.0.1:$port/cgi/echo")" = "in${r}done" ] || echo "script failed"
    done
}

# clients P WHEN ROUNDS [script]: 24 of them; without scripts, the server is restarted three times meanwhile
clients() {
    local i all=()
    for i in $(seq 24); do client "${@:3}" >"$dir/client.$i" 2>&1 & all+=($!); done
    if [ $# = 3 ]; then
        for i in 1 2 3; do
            sleep 0.7
            kill -USR1 "$srv"
        done
    fi
    wait "${all[@]}"
    cat "$dir"/client.* >"$dir/clients"
    [ -s "$dir/clients" ] || return 0
    sort "$dir/clients" | uniq -c | head -n 5
    tail -n 5 "$dir/error.log"
    fail "apache2 at $1: the answers are not $2"
}

for p in native $(sides $ps); do
    dir=$tmp/$p port=$(freeport)
    mkdir "$dir"
    : >"$tmp/server.out"
    apache_conf "$dir" "$port" >"$dir/conf"
    apache_up "$p"
    ab -q -k -n "$requests" -c 256 -s 60 "http://127.0.0.1:$port/f10" >"$dir/ab" 2>&1 || { tail -n 5 "$dir/ab" "$dir/error.log"; fail "apache2 at $p: ab: $(tail -n 1 "$dir/ab")"; }
    read -r k m < <(measure)
    failed=$(sed -n 's/^Failed requests: *//p; s/^Non-2xx responses: */non-2xx /p' "$dir/ab" | tr '\n' ' ')
    [ "$failed" = "0 " ] || fail "apache2 at $p: failed requests: $failed"
    [ "$p" = native ] || [ "$k" -lt 100 ] || fail "a child with 200 threads has $k kernel threads at $p: not under gossamer at all"
    column "$p" "$(sed -n 's/^Requests per second: *\([0-9.]*\).*/\1/p' "$dir/ab") requests per second, $(sed -n 's/^ *99% *//p' "$dir/ab") ms at 99 %, $k kernel threads a child, children $m MB"
    clients "$p" "right" 2 script
    clients "$p" "right across graceful restarts" "$rounds"
    [ "$(grep -c 'graceful restart' "$dir/error.log")" -ge 2 ] || fail "apache2 at $p: no graceful restart"

    # graceful stop while a slow client is served: it gets all of it, then the server ends
    curl -sS -m 60 --limit-rate 300k "http://127.0.0.1:$port/f40" >"$dir/slow" 2>"$dir/slow.err" & slow=$!
    sleep 0.5
    kill -WINCH "$srv"
    ended
    rc=$?
    wait $slow || fail "apache2 at $p: graceful stop cut a client off: $(cat "$dir/slow.err")"
    cmp -s "$dir/slow" "$tmp/www/f40" || fail "apache2 at $p: graceful stop: wrong bytes"
    [ "$p" = native ] && nrc=$rc
    [ $rc = "$nrc" ] || fail "apache2 at $p: status $rc after a graceful stop, natively $nrc"
    grep -E 'seg(mentation)? fault|Segmentation|exit signal|did not exit|\[(emerg|alert|crit)\]|:(emerg|alert|crit)\]' "$dir/error.log" >"$dir/bad" && { head -n 5 "$dir/bad"; fail "apache2 at $p: errors in the log"; }

    # a plain stop of a fresh one, under load
    apache_up "$p"
    ab -q -n 1000000 -t 20 -c 64 "http://127.0.0.1:$port/f10" >/dev/null 2>&1 & load=$!
    sleep 1
    kill -TERM "$srv"
    ended || fail "apache2 at $p: status $? after SIGTERM"
    wait $load
    [ -z "$(pgrep -f -- "-d $dir -f")" ] || fail "apache2 at $p: children are left"
done
exit 0

#!/bin/bash
# microsocks, a thread for each client: files through SOCKS5 with many clients at once, with and without a password.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
. "$real/servers_web"
need microsocks
need curl
rounds=4 ps="1 2 8"
[ "$LONG" = 1 ] && rounds=60
bin=$(elf microsocks || command -v microsocks)
web_up

for p in native $(sides $ps); do
    port=$(freeport)
    : >"$tmp/server.out"
    start "$p" "$bin" -i 127.0.0.1 -p "$port" -u someone -P secret
    listening "$port"
    idle=()
    for i in $(seq 150); do exec {fd}<>"/dev/tcp/127.0.0.1/$port" && idle+=("$fd"); done
    sleep 0.3
    k=$(tasks "$srv")
    [ "$p" = native ] || [ "$k" -lt 100 ] || fail "150 clients are $k kernel threads at $p: not under gossamer at all"
    from=$(date +%s%N)
    bad=$(checked "$rounds" --socks5 "127.0.0.1:$port" -U someone:secret)
    [ -z "$bad" ] || fail "microsocks at $p: $bad"
    column "$p" "$((24 * 4 * rounds)) files in $((($(date +%s%N) - from) / 1000000)) ms, $k kernel threads, $(peak "$srv") MB"
    curl -s -m 30 -o /dev/null --socks5 "127.0.0.1:$port" -U someone:wrong "http://127.0.0.1:$webport/f3"
    [ $? = 97 ] || fail "microsocks at $p: a wrong password is not refused"
    curl -s -m 30 -o /dev/null --socks5 "127.0.0.1:$port" -U someone:secret http://127.0.0.1:1/
    [ $? = 97 ] || fail "microsocks at $p: an unreachable host is not reported"
    # by name, which getaddrinfo looks up
    curl -s -m 30 --socks5-hostname "127.0.0.1:$port" -U someone:secret "http://localhost:$webport/f29" | cmp - "$tmp/www/f29" || fail "microsocks at $p: by name"
    for fd in "${idle[@]}"; do exec {fd}>&-; done
    kill -TERM "$srv"
    ended
    rc=$?
    [ "$p" = native ] && nrc=$rc
    [ $rc = "$nrc" ] || fail "microsocks at $p: status $rc after SIGTERM, natively $nrc"
done
exit 0

#!/bin/bash
# The system calls of a thread-per-connection echo server: each message costs one to receive and one to send. A read that came back short is
# followed by none that only finds the socket empty (wait/io.c), and what epoll costs is shared: many messages a look, where
# there are many, and one look a message where there is one connection.
. "$(dirname "$0")/lib.sh"
need strace
cc=${CC:-cc}
for p in echo_server echo_load; do
    $cc -O2 -pthread -o "$tmp/$p" "$top/test/bench/$p.c" || fail "cannot compile $p.c"
done
# counted N: calls per message, in hundredths, into io, epoll and all. Traced, the server is so slow that the answer to its message
# is there when it reads again: one thread goes on until the monitor, which watches epoll then, puts another in its place.
counted() {
    local n=$1
    timeout -k 5 "$LIMIT" "$tmp/echo_load" -n "$n" -w 0 -t 3000 strace -f -c -o "$tmp/calls" "$GOSSAMER" -p 1 "$tmp/echo_server" >"$tmp/load" 2>"$tmp/err" ||
        fail "$n connections: $(tail -n 1 "$tmp/err")"
    read -r io epoll all < <(awk '$NF == "total" { next }
        $NF ~ /^(write|sendto|sendmsg|pwritev2)$/ { m += $4 }
        $NF ~ /^(read|write|recvfrom|sendto|recvmsg|sendmsg|preadv2|pwritev2|poll)$/ { io += $4 }
        $NF ~ /^epoll_(wait|pwait|pwait2)$/ { epoll += $4 }
        $4 ~ /^[0-9]+$/ { all += $4 }
        END { if (m < 1000) exit 1; printf "%d %d %d\n", 100 * io / m, 100 * epoll / m, 100 * all / m }' "$tmp/calls") ||
        fail "$n connections: too few messages: $(cat "$tmp/load")"
}
# Without the rule there would be three calls for a message, and two of epoll's for the lone connection. The best of three: on a machine
# with other work the monitor, which looks when a thread has had its turn, adds its own.
for n in 1 100; do
    for try in 1 2 3; do
        counted $n
        [ "$io" -le 230 ] && [ "$epoll" -le 130 ] && continue 2
    done
    fail "$(head -n 12 "$tmp/calls"; echo "$n connections: $io hundredths of a call for reading and writing a message, $epoll for epoll, $all in all")"
done

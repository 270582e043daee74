#!/bin/bash
# java: java_work.java with 200 threads has the native output; kill -QUIT dumps all threads and the program goes on; how it ends.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
need java
need javac
export LC_ALL=C
unset JAVA_TOOL_OPTIONS _JAVA_OPTIONS
javac -d "$tmp/classes" "$real/java_work.java" >"$tmp/javac.out" 2>&1 || { tail -n 5 "$tmp/javac.out"; fail "java_work.java does not compile"; }
jvm=(java -XX:-UsePerfData -Xmx512m "-XX:ErrorFile=$tmp/hs_err" -cp "$tmp/classes" java_work)
ps="auto 1 8"
repeat=1
[ "$LONG" = 1 ] && repeat=10

# ms CMD...: runs it; sets "took"
ms() {
    local from rc
    from=$(date +%s%N)
    "$@"
    rc=$?
    took=$((($(date +%s%N) - from) / 1000000))
    return $rc
}

# once P MODE...: output and status in $tmp/MODE.P
once() {
    local p=$1 out=$tmp/$2.$1
    shift
    prefix "$p"
    timeout -k 5 "$LIMIT" ${as[@]+"${as[@]}"} "${jvm[@]}" "$@" >"$out" 2>&1 </dev/null
    echo "status $?" >>"$out"
    [ ! -e "$tmp/hs_err" ] || { head -n 40 "$tmp/hs_err"; fail "java $1 at $p: the virtual machine crashed"; }
}

agree() { cmp -s "$tmp/$1.native" "$tmp/$1.$2" || { diff "$tmp/$1.native" "$tmp/$1.$2" | tail -n 15; fail "java $1 at $2: not as natively"; }; }

for p in native $(sides $ps); do
    for mode in work throw exit main-ends; do
        ms once "$p" "$mode"
        agree "$mode" "$p"
        [ $mode = work ] && column "$p" "$took ms"
    done
    [ "$(tail -n 1 "$tmp/work.$p")" = "status 0" ] || fail "java at $p: $(tail -n 1 "$tmp/work.$p")"
    for ((i = 1; i < repeat; i++)); do
        once "$p" work
        agree work "$p"
    done
done

# 200 blocked threads must not be 200 kernel threads: otherwise native is compared with native
for p in $(sides $ps); do
    once "$p" kernel-threads
    k=$(head -n 1 "$tmp/kernel-threads.$p")
    [ "$k" -lt 100 ] || fail "200 parked threads are $k kernel threads at $p: not under gossamer at all"
done

# waitfor TEXT COUNT WHAT: until the server has printed it so often
waitfor() {
    local i
    for i in $(seq 300); do
        [ "$(grep -c -- "$1" "$tmp/server.out")" -ge "$2" ] && return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    tail -n 5 "$tmp/server.out"
    fail "$3"
}

# two dumps: each shows every thread in its state, and the program goes on
for p in native $(sides $ps); do
    rm -f "$tmp/go"
    : >"$tmp/server.out"
    start "$p" "${jvm[@]}" dump "$tmp/go"
    waitfor '^ready' 1 "java dump at $p: never ready"
    sleep 0.5   # until each thread is in its state
    for n in 1 2; do
        kill -QUIT "$srv"
        waitfor 'JNI global refs' $n "java at $p: no thread dump after SIGQUIT"
    done
    column "$p" "$(tasks "$srv") kernel threads, $(peak "$srv") MB resident"
    : >"$tmp/go"
    ended || fail "java dump at $p: exit status $?"
    grep -A 1 '^"dumped-' "$tmp/server.out" | sed -n 's/^"\(dumped-[0-9]*\)".*/\1/p; s/.*Thread.State: //p' | paste - - | sort -V >"$tmp/dump.$p"
    echo "$(grep -c '^"busy-' "$tmp/server.out") busy" >>"$tmp/dump.$p"
    tail -n 1 "$tmp/server.out" >>"$tmp/dump.$p"
    [ "$(wc -l <"$tmp/dump.$p")" = 302 ] || fail "java at $p: the two dumps show $(wc -l <"$tmp/dump.$p") waiting threads, not 300"
    agree dump "$p"
done

# SIGTERM runs the shutdown hooks
for p in native $(sides $ps); do
    : >"$tmp/server.out"
    start "$p" "${jvm[@]}" hook
    waitfor '^ready' 1 "java hook at $p: never ready"
    kill -TERM "$srv"
    ended
    echo "status $?" >>"$tmp/server.out"
    mv "$tmp/server.out" "$tmp/hook.$p"
    agree hook "$p"
done

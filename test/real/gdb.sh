#!/bin/bash
# gdb on a program under gossamer, as natively: attached to it while it computes, and starting it. The program comes to
# its own end each time, and nothing stops for the runtime's SIGURG. GOSSAMER_LONG=1: ten times.
. "$(dirname "$0")/lib.sh"
need gdb
need cc
LIMIT=60
lib=$(dirname "$GOSSAMER")/.libs/libgossamer.so
[ -r "$lib" ] || lib=$(dirname "$GOSSAMER")/../lib/gossamer/libgossamer.so
[ "$NATIVE_ONLY" = 1 ] || [ -r "$lib" ] || skip "no library beside $GOSSAMER"
prog=$tmp/gdb_program
cc -std=gnu11 -g -O1 -pthread -o "$prog" "$real/gdb_program.c" || fail "gdb_program.c does not compile"
gdb -nx -batch -ex run "$prog" >"$tmp/out" 2>&1 </dev/null
grep -q 'exited with code 03' "$tmp/out" || { tail -n 3 "$tmp/out"; skip "gdb cannot run a program here"; }

# attach SIDE: looks at the program while its threads compute; "ok" where it saw them, then how the program ended
attach() {
    local side=$1 server i pid=
    rm -f "$tmp/in"
    mkfifo "$tmp/in"
    (serve "$side" "$prog") >"$tmp/prog.out" 2>&1 <"$tmp/in" &
    server=$!
    exec 7>"$tmp/in"            # the program computes until this is closed
    pids+=("$server")
    for ((i = 0; i < 300; i++)); do
        grep -q waiting "$tmp/prog.out" && break
        sleep 0.1
    done
    pid=$(pgrep -P "$server" -x gdb_program) || { cat "$tmp/prog.out"; fail "attach, $side: the program is not there"; }
    for ((i = 0; i < 20; i++)); do      # on a busy machine the threads may not have begun
        timeout -k 5 "$LIMIT" gdb -nx -batch -p "$pid" -ex 'info threads' -ex 'thread apply all bt' -ex detach >"$tmp/gdb.out" 2>&1 </dev/null 7>&-
        grep -q 'in spinner (' "$tmp/gdb.out" && grep -q detached "$tmp/gdb.out" && break
        sleep 0.2 7>&-
    done
    if [ $i -lt 20 ]; then echo "attached: ok"; else tail -n 20 "$tmp/gdb.out" >&2; fi
    exec 7>&-
    wait "$server"
    echo "status $?"
    pids=()
    cat "$tmp/prog.out"
}

# start SIDE: a breakpoint in every thread; what gdb saw, without addresses and numbers of threads. A visit counts once: a
# thread that is preempted at the breakpoint itself goes on there on another kernel thread, for which gdb stops again.
start() {
    local side=$1 env=()
    [ "$side" = native ] || env=(-ex "set environment LD_PRELOAD $lib" -ex "set environment GOMAXPROCS $side")
    printf '%s\n' 'break visited' commands silent 'printf "visit %d\n", seen' 'bt 2' continue end run >"$tmp/script"
    timeout -k 5 "$LIMIT" gdb -nx -batch ${env[@]+"${env[@]}"} -x "$tmp/script" --args "$prog" 100000000 >"$tmp/gdb.out" 2>&1 </dev/null
    awk '/^visit / { again = $2 in seen; seen[$2] } !/^#/ || !again' "$tmp/gdb.out" |
        sed -En 's/^#[01] +(0x[0-9a-f]+ in )?([a-z]+) \(.*/\2/p; /^seen|exited with|received signal|^Thread .*stopped/s/^\[Inferior.*exited/exited/p' |
        sort | uniq -c
}

rounds=1
[ "${GOSSAMER_LONG:-0}" = 1 ] && rounds=10
for what in attach start; do
    $what native >"$tmp/$what.native" 2>"$tmp/err"
    grep -Eq 'attached: ok|11 visited' "$tmp/$what.native" || { cat "$tmp/$what.native" "$tmp/err"; skip "gdb cannot $what natively"; }
    for ((i = 0; i < rounds; i++)); do
        for p in $(sides 1 2 8); do
            $what "$p" >"$tmp/$what.$p" 2>"$tmp/err"
            cmp -s "$tmp/$what.native" "$tmp/$what.$p" || { diff "$tmp/$what.native" "$tmp/$what.$p"; cat "$tmp/err"; fail "$what at $p P: not as natively"; }
        done
    done
done

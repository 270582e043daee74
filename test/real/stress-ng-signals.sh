#!/bin/bash
# stress-ng --verify of its signal, timer and process stressors, for a number of rounds each: exit status and verdicts
# as natively. They have one thread, which the library leaves alone; so each is run once more with a second thread in
# it and in every child that it forks (second_thread.c), natively too. GOSSAMER_LONG=1: 20 times the rounds, at 1, 2
# and 8 processors instead of 2. The stressors of threads, mutexes, semaphores and futexes are in stress-ng.sh. Left out:
# sigio, sigxcpu, sigxfsz and sigbus, which fail or never end natively now and then.
. "$(dirname "$0")/lib.sh"
need stress-ng
need cc
times=1 ps=(2) LIMIT=30
[ "${GOSSAMER_LONG:-0}" = 1 ] && times=20 ps=(1 2 8) LIMIT=60
cc -std=gnu11 -O2 -shared -fPIC -pthread -o "$tmp/second.so" "$real/second_thread.c" || fail "second_thread.c does not compile"

# the verdict lines, without times, process numbers and order
verdicts() { grep -E 'passed|failed|skipped|successful|fail:|error|gossamer:' "$1" | sed -E 's/\[[0-9]+\]//g; s/[0-9]+\.[0-9]+s?//g; s/ in .*//; s/on pid [0-9]+/on pid/; s/run completed.*/run/' | sort -u; }

# stress SIDE NAME OPS [LIBRARY]: output to $tmp/NAME.SIDE
stress() {
    local p=$1 n=$2 ops=$3 lib=${4:-}
    # shellcheck disable=SC2016 # for the inner shell, whose LD_PRELOAD has the runtime already
    under "$p" sh -c '[ -z "$1" ] || export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$1"; shift; exec stress-ng "$@"' sh "$lib" \
        "--$n" 2 "--$n-ops" $((ops * times)) --verify --timeout 5 --temp-path "$tmp" >"$tmp/$n.$p" 2>&1 </dev/null
}

cd "$tmp" || exit 1
bad=0
for s in 'sigq 2000' 'sigpipe 100' 'sigfpe 2000' 'sigsegv 2000' 'sigsuspend 200' 'sigabrt 50' 'sigrt 500' 'kill 2000' \
    'sigpending 500' 'signal 2000' 'signest 20' 'sigchld 50' 'sigfd 500' 'sigtrap 500' 'timer 1000' 'itimer 100' 'alarm 2' \
    'fork 50' 'vfork 50' 'clone 20' 'sockpair 200'; do
    n=${s% *}
    for lib in "" "$tmp/second.so"; do
        for p in native $(sides "${ps[@]}"); do
            stress "$p" "$n" "${s#* }" "$lib"
            rc=$?
            verdicts "$n.$p" >"$n.$p.verdict"
            if [ "$p" = native ]; then
                nrc=$rc
                [ $rc = 124 ] && fail "$n: natively it does not end"
            elif [ $rc != "$nrc" ] || ! cmp -s "$n.native.verdict" "$n.$p.verdict"; then
                diff "$n.native.verdict" "$n.$p.verdict" | head -n 5
                echo "$n${lib:+ with a second thread} at $p P: exit status $rc, natively $nrc"
                bad=$((bad + 1))
            fi
        done
    done
done
[ $bad = 0 ] || fail "$bad runs with other results than natively"

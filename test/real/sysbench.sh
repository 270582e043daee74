#!/bin/bash
# sysbench's own loads with a fixed number of events: all are done, as natively, also when every thread is preempted each millisecond.
. "$(dirname "$0")/lib.sh"
sb=$(elf sysbench) || skip "no sysbench"
# load P GODEBUG: what does not depend on time
load() {
    local t
    for t in "cpu --cpu-max-prime=2000 --events=2000" "threads --thread-yields=100 --thread-locks=4 --events=300" \
        "mutex --mutex-num=64 --mutex-locks=500 --mutex-loops=100"; do
        # shellcheck disable=SC2086 # a list of words
        GODEBUG=$2 under "$1" "$sb" $t --threads=8 --time=0 run >"$tmp/out" 2>"$tmp/err" || fail "$t at $1: status $?: $(tail -n 3 "$tmp/err")"
        grep -E 'Number of threads|total number of events|Threads started' "$tmp/out"
    done
}
load native '' >"$tmp/native" || exit 1
for p in $(sides 1 2 8); do
    for debug in '' preempt=1000; do
        load "$p" "$debug" >"$tmp/ours" || { cat "$tmp/ours"; exit 1; }
        cmp "$tmp/native" "$tmp/ours" || fail "at $p P, GODEBUG=$debug: $(diff "$tmp/native" "$tmp/ours" | head -n 5)"
    done
done

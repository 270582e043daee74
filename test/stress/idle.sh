#!/bin/bash
# What an idle process keeps (idle.c): kernel threads after a burst of blocking calls, memory of free stacks, and that it
# sleeps: 10,000 parked threads use no CPU time at all.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-idle-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0
read -r -a cc <<<"${CC:-cc}"
"${cc[@]}" -std=gnu11 -O2 -g -Wall -Wextra -pthread -o "$dir/idle" "$top/test/stress/idle.c" || exit 1

once() {        # once GODEBUG P ARGS...
    local out
    if out=$(GODEBUG=$1 timeout -k 5 60 "$build/gossamer" --require -p "$2" "$dir/idle" "${@:3}" 2>&1); then
        echo "ok ${*:3} at $2 P: $out"
        passed=$((passed + 1))
    else
        echo "FAIL ${*:3} at $2 P: $out"
        failed=$((failed + 1))
    fi
}

for p in 1 2 8; do
    once idlethreads=300 $p burst 1000
    once idlestacks=300 $p stacks 40
done
once idlethreads=300 2 burst 5000
once idlethreads=300,idlestacks=300 2 parked 10000
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

#!/bin/bash
# The storm (storm.c) natively and under gossamer. usage: storm.sh [SECONDS [THREADS]]
# STORM_MINUTES in the environment sets the length of each run instead; GOSSAMER_DEBUG_BUILD names a build with
# --enable-debug that is run, too.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
seconds=${1:-10} threads=${2:-1000}
[ -z "${STORM_MINUTES:-}" ] || seconds=$((STORM_MINUTES * 60))
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-storm-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' INT TERM HUP
passed=0 failed=0
read -r -a cc <<<"${CC:-cc}"
"${cc[@]}" -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wconversion -pthread -o "$dir/storm" "$top"/test/stress/storm*.c || exit 1

once() {        # once NAME CMD...
    local name=$1
    shift
    # at the end all that is under way has to arrive, which takes its time on one processor
    timeout -k 5 $((seconds + 300)) "$@" -n "$threads" "$seconds" >"$dir/log" 2>&1
    rc=$?
    if [ $rc = 0 ]; then
        echo "ok $name: $(tail -n 1 "$dir/log")"
        passed=$((passed + 1))
    else
        echo "FAIL $name: status $rc"
        head -n 20 "$dir/log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

once native "$dir/storm"
for p in 1 2 8; do
    once "GOMAXPROCS=$p" env GOMAXPROCS=$p "$build/gossamer" --require "$dir/storm"
    [ -z "${GOSSAMER_DEBUG_BUILD:-}" ] ||
        once "GOMAXPROCS=$p, --enable-debug" env GOMAXPROCS=$p "$GOSSAMER_DEBUG_BUILD/gossamer" --require "$dir/storm"
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

#!/bin/bash
# Preemption at every moment (preempt.c): every 50 us at 1, 2 and 8 Ps, until at least 100,000 preemptions have gone well.
# usage: preempt.sh [SECONDS]     of each run with libraries (default 5; GOSSAMER_LONG=1: 60)
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
seconds=${1:-5}
[ "${GOSSAMER_LONG:-0}" = 0 ] || seconds=60
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-preempt-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 sum=0
read -r -a cc <<<"${CC:-cc}"
"${cc[@]}" -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wconversion -pthread -o "$dir/preempt" "$top/test/stress/preempt.c" || exit 1

once() {        # once P SECONDS WHAT
    local n rc
    rm -f "$dir/stats"
    GOSSAMER_STATS=$dir/stats GODEBUG=preempt=50 timeout -k 5 $(($2 + 60)) "$build/gossamer" --require -p "$1" "$dir/preempt" "$2" "$3" >"$dir/out" 2>&1
    rc=$?
    n=$(sed -n 's/.* preempted \([0-9]*\)$/\1/p' "$dir/stats" 2>/dev/null)
    sum=$((sum + ${n:-0}))
    if [ $rc = 0 ] && [ "${n:-0}" -gt 0 ]; then
        [ "${4:-}" = quiet ] || echo "ok $3 at $1 P: ${n:-no} preemptions, $(tail -n 1 "$dir/out")"
        return 0
    fi
    echo "FAIL $3 at $1 P: status $rc, ${n:-no} preemptions"
    head -n 20 "$dir/out" | sed 's/^/    /'
    return 1
}

for p in 1 2 8; do
    for what in registers libraries; do
        if once $p "$seconds" $what; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    done
done
more=0
while [ $sum -lt 100000 ] && [ $failed = 0 ] && [ $more -lt 12 ]; do
    more=$((more + 1))
    once $((more % 2 + 1)) 5 registers quiet || failed=$((failed + 1))
done
skipped=0
if [ $sum -ge 100000 ]; then
    echo "ok $sum preemptions"
    passed=$((passed + 1))
elif [ $failed = 0 ]; then
    echo "skip 100,000 preemptions: this machine did $sum in the time"
    skipped=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]

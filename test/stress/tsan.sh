#!/bin/bash
# The lock-free structures under ThreadSanitizer, compiled from the modules' sources. usage: tsan.sh [SCALE]
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
scale=${1:-1}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-tsan-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' INT TERM HUP
passed=0 failed=0

# $CC may be several words
read -r -a cc <<<"${CC:-cc}"
# -Wno-tsan: gcc warns that it does not understand atomic_thread_fence
flags=(-std=gnu11 -O1 -g -fsanitize=thread -D_GNU_SOURCE -I"$top/src" -I"$top/include" -pthread)
"${cc[@]}" -Wno-tsan -x c -c -o /dev/null /dev/null 2>/dev/null && flags+=(-Wno-tsan)

echo 'int main(void) { return 0; }' >"$dir/try.c"
if ! "${cc[@]}" "${flags[@]}" -o "$dir/try" "$dir/try.c" 2>"$dir/log"; then
    echo "skipped: ${cc[*]} has no -fsanitize=thread"
    exit 77
fi
# it does not like every layout of the address space; without randomisation it does
run=()
if ! "$dir/try" >"$dir/log" 2>&1; then
    run=(setarch -R)
    "${run[@]}" "$dir/try" >"$dir/log" 2>&1 ||
        { echo "skipped: a program with ThreadSanitizer does not start here: $(head -n 1 "$dir/log")"; exit 77; }
fi

# check NAME ARGUMENT MODULE...
check() {
    local name=$1 arg=$2 m sources=()
    shift 2
    for m; do sources+=("$top/src/$m.c"); done
    if ! "${cc[@]}" "${flags[@]}" -o "$dir/$name" "$top/test/stress/$name.c" "${sources[@]}" >"$dir/log" 2>&1; then
        echo "FAIL $name: does not compile"
    elif TSAN_OPTIONS="halt_on_error=0 exitcode=66 ${TSAN_OPTIONS:-}" timeout -k 5 240 \
        "${run[@]}" "$dir/$name" "$arg" >"$dir/log" 2>&1; then
        echo "ok $name: $(tail -n 1 "$dir/log")"
        passed=$((passed + 1))
        return
    else
        echo "FAIL $name: status $?"
    fi
    failed=$((failed + 1))
    head -n 100 "$dir/log" | sed 's/^/    /'
}

check park_tsan $((30000 * scale)) wait/park base/clock base/lock
check runq_tsan $((2000000 * scale)) sched/runq base/clock base/lock
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

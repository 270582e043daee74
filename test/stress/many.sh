#!/bin/bash
# 100,000 threads alive at once, with three sizes of stack.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
export GOSSAMER_BUILD=${top_builddir:-$top/build} MILLION_TIMEOUT=180
passed=0 failed=0 skipped=0
for stack in 64K 256K 8M; do
    out=$("$top/scripts/million" 100000 $stack 2>&1)
    case $? in
    0) echo "ok $stack: $(grep '^per thread' <<<"$out")"; passed=$((passed + 1)) ;;
    77) echo "skip $stack: $(tail -n 1 <<<"$out")"; skipped=$((skipped + 1)) ;;
    *) echo "FAIL $stack"; tail -n 8 <<<"$out" | sed 's/^/    /'; failed=$((failed + 1)) ;;
    esac
done
[ $passed != 0 ] || [ $failed != 0 ] || { echo "${out##*== }"; exit 77; }
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]

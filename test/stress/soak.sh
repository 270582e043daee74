#!/bin/bash
# The soak (soak.c): connections that open, talk and close at random, with signals and timeouts, and nothing may be lost or leak.
# usage: soak.sh [SECONDS [CONNECTIONS [P...]]]     default 60 10000 2 (GOSSAMER_LONG=1: 600 s); a P may be the word native
# In the environment SOAK_SEED repeats a run, SOAK_STALL sets the seconds without progress that are a failure (60), and SOAK_FAULT
# (flip, lose, fd, page, thread, hang, edge) makes a fault that must be found. What is left of a failure is kept in the directory
# that is printed.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
build=$(cd "$build" && pwd) || exit 99
seconds=60
[ "${GOSSAMER_LONG:-0}" = 0 ] || seconds=600
seconds=${1:-$seconds} connections=${2:-10000}
procs=("${@:3}")
[ ${#procs[@]} -gt 0 ] || procs=(2)
stall=${SOAK_STALL:-60}
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-soak-XXXXXX") || exit 99
passed=0 failed=0
trap '[ $failed != 0 ] || rm -rf "$dir"' EXIT
trap 'exit 99' INT TERM HUP
read -r -a cc <<<"${CC:-cc}"
"${cc[@]}" -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wconversion -pthread -o "$dir/soak" "$top"/test/stress/soak*.c || exit 1

# Runs beside the server at its end: main alone is left; and when it hangs: what does each thread wait for?
cat >"$dir/look" <<'EOF'
#!/bin/bash
if [ "$1" = stalled ]; then
    cat "/proc/$2/status" >"$0.status" 2>&1
    [ "$SOAK_P" = native ] || for what in "ps --all" stacks; do
        # shellcheck disable=SC2086 # two words
        timeout 60 "$SOAK_GOSSAMER" $what "$2" >"$0.${what%% *}" 2>&1
    done
    exit 0
fi
[ "$SOAK_P" != native ] || exit 0
for _ in {1..50}; do
    json=$("$SOAK_GOSSAMER" ps --json "$2") || exit 1
    [[ $json != *'"counts":{"alive":1,'* ]] || exit 0
    sleep 0.1
done
echo "FAIL Gs are left: $(grep -o '"counts":{[^}]*}' <<<"$json")" >&2
"$SOAK_GOSSAMER" ps "$2" | tail -n +5 | head -n 10 >&2
exit 1
EOF
chmod +x "$dir/look"
export SOAK_GOSSAMER=$build/gossamer SOAK_P GOSSAMER_STATS=$dir/stats

once() {        # once P
    local rc lost
    local run=()
    SOAK_P=$1
    [ "$1" = native ] || run=("$build/gossamer" --require -p "$1")
    rm -f "$dir/stats"
    # at the end of each cycle what is under way has to arrive
    timeout -k 5 $((seconds + seconds / 2 + 300)) "$dir/soak" -n "$connections" -w "$stall" -x "$dir/look" ${SOAK_SEED:+-s "$SOAK_SEED"} \
        ${SOAK_FAULT:+-f "$SOAK_FAULT"} "$seconds" "${run[@]}" >"$dir/out.$1" 2>"$dir/err.$1"
    rc=$?
    if [ "$1" != native ]; then
        lost=$(sed -n 's/.* rescued \([0-9]*\)$/\1/p' "$dir/stats" 2>/dev/null)
        [ "${lost:-0}" = 0 ] || echo "FAIL $lost lost edges were rescued" >>"$dir/err.$1"
        [ -n "$lost" ] || echo "FAIL the library left no counters" >>"$dir/err.$1"
    fi
    if [ $rc = 0 ] && ! grep -q '^FAIL' "$dir/err.$1"; then
        echo "ok ${1/#[0-9]/GOMAXPROCS=&}, $connections connections, $seconds s${lost:+, $lost rescued}"
        passed=$((passed + 1))
    else
        echo "FAIL ${1/#[0-9]/GOMAXPROCS=&}: status $rc; all is in $dir"
        head -n 20 "$dir/err.$1" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
    sed 's/^/    /' "$dir/out.$1"
}

for p in "${procs[@]}"; do
    once "$p"
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

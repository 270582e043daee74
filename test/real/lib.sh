#!/bin/bash
# What the real-program tests share. Sourced by bash. A test exits 0 (passed), 1 (failed), 77 (skipped; its last line says why).
# GOSSAMER: the wrapper. NATIVE_ONLY=1: only the native half, to try the tests themselves.
set -u
real=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$real/../.." && pwd)
GOSSAMER=${GOSSAMER:-$top/build/gossamer}
NATIVE_ONLY=${NATIVE_ONLY:-0}
LIMIT=${LIMIT:-120}	# seconds for one command
tmp=$(mktemp -d) || exit 1
pids=()

cleanup() {
    local p
    for p in ${pids[@]+"${pids[@]}"}; do kill "$p" 2>/dev/null; done
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

fail() { printf '%s\n' "$*"; exit 1; }
skip() { printf '%s\n' "$*"; exit 77; }

# need CMD: skips the test where it is not there
need() { command -v "$1" >/dev/null 2>&1 || skip "no $1"; }

# elf NAME: the real program behind NAME (no script, no shim)
elf() {
    local p
    for p in "/usr/bin/$1" "/usr/local/bin/$1" "$(command -v "$1")"; do
        p=$(readlink -f "$p" 2>/dev/null) && [ -x "$p" ] || continue
        [ "$(head -c 4 "$p" | tail -c 3)" = ELF ] && { printf '%s\n' "$p"; return 0; }
    done
    return 1
}

# under P CMD...: runs it natively (P = native) or under gossamer with P processors
under() {
    local p=$1
    shift
    if [ "$p" = native ]; then
        timeout -k 5 "$LIMIT" "$@"
    else
        timeout -k 5 "$LIMIT" "$GOSSAMER" -p "$p" "$@"
    fi
}

# serve P CMD...: the same, to be put in the background: $! is then what signals go to
serve() {
    local p=$1
    shift
    [ "$p" = native ] || set -- "$GOSSAMER" -p "$p" "$@"
    exec timeout -k 5 "$LIMIT" "$@"
}

# sides P...: what to run after the native half
sides() { [ "$NATIVE_ONLY" = 1 ] || printf '%s\n' "$@"; }

# same "P..." NAME CMD...: stdout and exit status must be the native ones; leaves the native stdout in $tmp/NAME.native
same() {
    local ps=$1 name=$2 p rc nrc
    shift 2
    under native "$@" >"$tmp/$name.native" 2>"$tmp/err" </dev/null
    nrc=$?
    [ $nrc = 124 ] && { tail -n 3 "$tmp/err"; fail "$name: natively it did not end in $LIMIT s"; }
    # shellcheck disable=SC2086 # a list of numbers
    for p in $(sides $ps); do
        under "$p" "$@" >"$tmp/$name.$p" 2>"$tmp/err" </dev/null
        rc=$?
        [ $rc = $nrc ] || { tail -n 5 "$tmp/err"; fail "$name at $p P: exit status $rc, natively $nrc"; }
        cmp -s "$tmp/$name.native" "$tmp/$name.$p" || {
            diff "$tmp/$name.native" "$tmp/$name.$p" 2>&1 | head -n 5
            fail "$name at $p P: not the native output"
        }
    done
    return $nrc
}

# data FILE MEGABYTES: text that compresses, the same each time
data() {
    awk -v size="$2" 'BEGIN {
        x = 1
        for (n = 0; n < size * 1048576; n += length(line) + 1) {
            line = ""
            for (i = 0; i < 12; i++) { x = (x * 69069 + 5) % 4294967296; line = line sprintf("%x ", int(x / 1048576)) }
            print line
        }
    }' >"$1" || fail "no room for $2 MB"
}

#!/bin/bash
# stress-ng --verify of the stressors that use threads, futexes, pipes and sockets: exit status and verdicts as natively.
. "$(dirname "$0")/lib.sh"
need stress-ng
LIMIT=60

# the verdict lines, without times, process numbers and order
verdicts() { grep -E 'passed|failed|skipped|successful|fail:|error' "$1" | sed -E 's/\[[0-9]+\]//g; s/[0-9]+\.[0-9]+s?//g; s/ in .*//; s/run completed.*/run/' | sort -u; }

cd "$tmp" || exit 1
for s in '--pthread 2 --pthread-max 64' '--mutex 2' '--sem 2' '--futex 2' '--pipe 2' '--sock 2'; do
    n=${s#--} n=${n%% *}
    for p in native $(sides 2); do
        # shellcheck disable=SC2086 # options
        under "$p" stress-ng $s --verify --timeout 2 --temp-path "$tmp" >"$n.$p" 2>&1 </dev/null
        rc=$?
        verdicts "$n.$p" >"$n.$p.verdict"
        if [ "$p" = native ]; then
            nrc=$rc
            [ $rc = 124 ] && fail "$n: natively it does not end"
        else
            [ $rc = "$nrc" ] || { tail -n 5 "$n.$p"; fail "$n at $p P: exit status $rc, natively $nrc"; }
            cmp -s "$n.native.verdict" "$n.$p.verdict" || { diff "$n.native.verdict" "$n.$p.verdict"; fail "$n at $p P: other verdicts than natively"; }
        fi
    done
    echo "$n: status $nrc, $(wc -l <"$n.native.verdict") verdict lines"
done

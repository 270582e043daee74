#!/bin/bash
# xz -T4: compresses and restores; the compressed bytes are the native ones.
. "$(dirname "$0")/lib.sh"
need xz
data "$tmp/in" 16
same "1 2 8" xz xz -1 -T4 --block-size=1MiB -k -c "$tmp/in" || fail "xz fails natively"
for p in $(sides 2); do
    under "$p" xz -dc -T4 <"$tmp/xz.$p" | cmp - "$tmp/in" || fail "xz -d at $p P: not what went in"
    under "$p" xz -t -T4 "$tmp/in" 2>/dev/null && fail "xz -t at $p P: took a damaged file for good"
    # through pipes on both sides
    under native cat "$tmp/in" | under "$p" xz -1 -T4 --block-size=1MiB | cmp - "$tmp/xz.native" || fail "xz at $p P: piped output differs"
done
xz -dc "$tmp/xz.native" | cmp - "$tmp/in" || fail "xz -d: not what went in"

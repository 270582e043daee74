#!/bin/bash
# pigz -p4: compresses and restores; the compressed bytes are the native ones.
. "$(dirname "$0")/lib.sh"
need pigz
data "$tmp/in" 16
same "1 2 8" pigz pigz -n -p4 -b 128 -c "$tmp/in" || fail "pigz fails natively"
for p in $(sides 2); do
    under "$p" pigz -dc -p4 <"$tmp/pigz.$p" | cmp - "$tmp/in" || fail "pigz -d at $p P: not what went in"
    under native cat "$tmp/in" | under "$p" pigz -n -p4 -b 128 | cmp - "$tmp/pigz.native" || fail "pigz at $p P: piped output differs"
done
gzip -dc "$tmp/pigz.native" | cmp - "$tmp/in" || fail "gzip -d: not what went in"

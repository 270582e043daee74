#!/bin/bash
# zstd -T4: compresses and restores; the compressed bytes are the native ones.
. "$(dirname "$0")/lib.sh"
need zstd
data "$tmp/in" 16
same "1 2 8" zstd zstd -q -3 -T4 -B1MiB -c "$tmp/in" || fail "zstd fails natively"
for p in $(sides 2); do
    under "$p" zstd -q -dc <"$tmp/zstd.$p" | cmp - "$tmp/in" || fail "zstd -d at $p P: not what went in"
    under native cat "$tmp/in" | under "$p" zstd -q -3 -T4 -B1MiB -c >"$tmp/piped" || fail "zstd at $p P: cannot compress a pipe"
    zstd -q -dc <"$tmp/piped" | cmp - "$tmp/in" || fail "zstd at $p P: piped output does not restore"
done
zstd -q -dc <"$tmp/zstd.native" | cmp - "$tmp/in" || fail "zstd -d: not what went in"

#!/bin/bash
# A Rust program of std's threads, channels, locks and sockets (rust.rs).
. "$(dirname "$0")/lib.sh"
need rustc
rustc --version >/dev/null 2>&1 || skip "rustc is there but does not run"
(cd "$tmp" && rustc --edition 2021 -O -o rust "$real/rust.rs") >"$tmp/rustc.out" 2>&1 || { tail -n 20 "$tmp/rustc.out"; fail "rust.rs does not compile"; }
same "1 2 8" rustprog "$tmp/rust" || fail "rust.rs fails natively with $?: $(tail -n 1 "$tmp/err")"

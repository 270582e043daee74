#!/bin/bash
# Ruby's threads, time limits, traps and children (ruby_threads.rb): output and exit status as natively. GOSSAMER_LONG=1: ten rounds instead of one.
. "$(dirname "$0")/lib.sh"
rb=$(elf ruby) || skip "no ruby that is a real program"
rounds=1
[ "${GOSSAMER_LONG:-0}" = 1 ] && rounds=10
same "1 2 8" ruby "$rb" "$real/ruby_threads.rb" "$rounds" || fail "ruby_threads.rb fails natively: $(tail -n 1 "$tmp/err")"

#!/bin/bash
# Perl's interpreter threads (perl_threads.pl): output and exit status as natively. GOSSAMER_LONG=1: ten rounds instead of one.
. "$(dirname "$0")/lib.sh"
pl=$(elf perl) || skip "no perl that is a real program"
"$pl" -e 'use threads; use Thread::Queue' 2>/dev/null || skip "perl has no threads"
rounds=1
[ "${GOSSAMER_LONG:-0}" = 1 ] && rounds=10
same "1 2 8" perl "$pl" "$real/perl_threads.pl" "$rounds" || fail "perl_threads.pl fails natively: $(tail -n 1 "$tmp/err")"

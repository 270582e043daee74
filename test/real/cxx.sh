#!/bin/bash
# A C++ program of the standard library's threads (cxx.cc), at two levels of optimisation.
. "$(dirname "$0")/lib.sh"
cxx=${CXX:-g++}
need "$cxx"
for o in -O0 -O2; do
    "$cxx" -std=c++20 $o -pthread -o "$tmp/cxx$o" "$real/cxx.cc" || fail "cxx.cc does not compile"
    same "1 2 8" "cxx$o" "$tmp/cxx$o" || fail "cxx.cc $o fails natively with $?: $(tail -n 1 "$tmp/err")"
done

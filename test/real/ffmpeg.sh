#!/bin/bash
# ffmpeg encodes a test picture with threads: the file must be the native one byte by byte, also when every thread is preempted each
# millisecond whether others wait or not.
. "$(dirname "$0")/lib.sh"
ff=$(elf ffmpeg) || skip "no ffmpeg"
seconds=2
[ "${GOSSAMER_LONG:-0}" = 1 ] && seconds=30
# encode OUT P [GODEBUG]
encode() {
    local codec
    for codec in mpeg4 libx264; do
        GODEBUG=${3:-} under "$2" "$ff" -nostdin -v error -y -filter_threads 4 -f lavfi -i "testsrc=duration=$seconds:size=640x360:rate=25" -threads 4 \
            -c:v $codec -flags +bitexact -fflags +bitexact "$1.$codec.mkv" 2>"$tmp/err" || fail "$codec at $2 P: status $?: $(tail -n 3 "$tmp/err")"
    done
}
encode "$tmp/native" native
for p in $(sides 1 2 8); do
    for debug in '' preempt=1000; do
        encode "$tmp/out" "$p" $debug
        for codec in mpeg4 libx264; do
            cmp "$tmp/native.$codec.mkv" "$tmp/out.$codec.mkv" || fail "$codec at $p P, GODEBUG=$debug: not the same file"
        done
    done
done

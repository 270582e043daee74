#!/bin/bash
# The unit tests with AddressSanitizer and UndefinedBehaviorSanitizer, compiled from the modules' sources.
# usage: asan.sh [NAME...]
set -u
cd "$(dirname "$0")/../.." || exit 99
out=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-asan-XXXXXX") || exit 99
trap 'rm -rf "$out"' EXIT
trap 'exit 99' INT TERM HUP
passed=0 failed=0
read -r -a cc <<<"${CC:-cc}"
read -r -a criterion <<<"$(pkg-config --cflags --libs criterion 2>/dev/null)"
[ ${#criterion[@]} -gt 0 ] || { echo "skipped: the unit tests need Criterion, which pkg-config did not find"; exit 77; }
san=("-fsanitize=address,undefined" -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
echo 'int main(void) { return 0; }' >"$out/try.c"
"${cc[@]}" "${san[@]}" -o "$out/try" "$out/try.c" 2>/dev/null && "$out/try" ||
    { echo "skipped: ${cc[*]} has no -fsanitize=address,undefined"; exit 77; }
flags=(-std=gnu11 -O1 -g -D_GNU_SOURCE -Isrc -Iinclude -ftls-model=initial-exec -fexceptions -pthread "${san[@]}")

compile() {
    local f objs=() jobs=0
    for f in src/arch/x86_64/*.S src/base/*.c src/event/*.c src/sched/*.c src/wait/*.c; do
        "${cc[@]}" "${flags[@]}" -fPIC -c -o "$out/${f//\//_}.o" "$f" &
        objs+=("$out/${f//\//_}.o")
        [ $((++jobs % 4)) != 0 ] || wait
    done
    "${cc[@]}" -fPIC -shared -o "$out/libtlsmod.so" test/unit/tlsmod.c &
    wait
    ar rc "$out/libcore.a" "${objs[@]}"
}

compile >"$out/log" 2>&1 || { echo "FAIL asan: does not compile"; cat "$out/log"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
# what glibc, ld.so and Criterion keep for ever is no leak of ours
export ASAN_OPTIONS="detect_leaks=0:handle_segv=0:allow_user_segv_handler=1:handle_abort=0:use_sigaltstack=0:detect_stack_use_after_return=0"
export UBSAN_OPTIONS="print_stacktrace=1"
names=("$@")
[ $# -gt 0 ] || for f in test/unit/*.c; do
    grep -q '^Test(' "$f" && { f=${f##*/}; names+=("${f%.c}"); }
done
for n in "${names[@]}"; do
    if ! "${cc[@]}" "${flags[@]}" -o "$out/$n" "test/unit/$n.c" "$out/libcore.a" -L"$out" -Wl,-rpath,"$out" \
        -ltlsmod "${criterion[@]}" >"$out/log" 2>&1; then
        echo "FAIL $n: does not compile"
        tail -n 20 "$out/log" | sed 's/^/    /'
        failed=$((failed + 1))
        continue
    fi
    timeout -k 5 120 "$out/$n" >"$out/log" 2>&1
    rc=$?
    sed -i 's/\x1b\[[0-9;]*m//g' "$out/log"
    sums=$(sed -n 's/.*Synthesis: Tested: \([0-9]*\) .*/\1/p' "$out/log")
    if [ $rc = 0 ] && [ -n "$sums" ] && ! grep -qE 'ERROR: AddressSanitizer|runtime error:' "$out/log"; then
        echo "ok $n: $sums tests"
        passed=$((passed + 1))
    else
        echo "FAIL $n: status $rc"
        head -n 60 "$out/log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]

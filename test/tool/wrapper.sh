#!/bin/sh
# The command: what it passes on to the program, what it refuses, and the one
# line with which it says so.  It is copied into a directory of its own beside
# an empty library, so that only the command is tested, and all the places
# where a library may be can be tried.

set -u
: "${GOSSAMER:=$(pwd)/gossamer}" "${CC:=cc}"
real=$(dirname "$GOSSAMER")/.libs/libgossamer.so
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-wrapper-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
failed=0
export GOSSAMER_CONF=            # of no machine
unset LD_PRELOAD GOMAXPROCS GOSSAMER_STACK GOSSAMER_CHILDREN GOSSAMER_DISABLE

fail()
{
    echo "FAIL: $*"
    failed=$((failed + 1))
}

skip()
{
    echo "not tested: $*"
}

# is WHAT GOT WANTED
is()
{
    [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"
}

# has WHAT TEXT PART
has()
{
    case $2 in
    *"$3"*) ;;
    *) fail "$1: no '$3' in '$2'" ;;
    esac
}

# status WANTED COMMAND...
status()
{
    wanted=$1
    shift
    "$@" >/dev/null 2>&1
    is "status of $*" $? "$wanted"
}

# native FILE REASON: runs without the preload and says so; --require refuses.
native()
{
    line=$($g "$1" 2>&1 >/dev/null)
    is "line for $1" "$line" "gossamer: $1: $2; running on native threads"
    line=$($g -q "$1" 2>&1 >/dev/null)
    is "-q $1" "$line" ""
    line=$($g --require "$1" 2>&1)
    is "status of --require $1" $? 125
    is "--require $1" "$line" "gossamer: $1: $2; not run (--require)"
    status 1 $g check "$1"
    has "check $1" "$($g check "$1")" "verdict: native threads"
}

mkdir "$dir/bin" "$dir/bin/.libs" "$dir/alone" || exit 99
cp "$GOSSAMER" "$dir/bin/gossamer" && cp "$GOSSAMER" "$dir/alone/gossamer" || exit 99
cd "$dir" || exit 99
echo 'int gossamer_stub;' > stub.c
$CC -shared -fPIC -o bin/.libs/libgossamer.so stub.c || exit 99
cat > prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    const char *p = getenv("LD_PRELOAD");
    if (argc > 1)
        return atoi(argv[1]);
    printf("%s %s\n", argv[0], p != NULL ? p : "none");
    return 0;
}
END
$CC -o prog prog.c || exit 99
g=$dir/bin/gossamer
lib=$dir/bin/.libs/libgossamer.so

# --- what the program gets ---

is "argv[0] and preload" "$($g ./prog)" "./prog $lib"
is "argv[0] of PATH" "$(PATH=$dir:$PATH $g prog)" "prog $lib"
is "empty PATH entry" "$(PATH=:/bin:/usr/bin $g prog)" "prog $lib"
is "stdin" "$(echo hello | $g cat)" hello
status 0 $g ./prog
status 3 $g ./prog 3
status 3 $g -- ./prog 3
is "signal" "$($g sh -c 'kill -TERM $$' >/dev/null 2>&1; echo $?)" 143
is "pid" "$(sh -c 'echo $$; exec "$0" sh -c "echo \$\$"' $g | uniq | wc -l)" 1
cp bin/.libs/libgossamer.so other.so
is "preload order" "$(LD_PRELOAD=$dir/other.so $g ./prog)" "./prog $lib:$dir/other.so"
is "nested" "$($g $g ./prog)" "./prog $lib"
# shellcheck disable=SC2016
is "options" "$($g -p 3 -s 256K --children=drop sh -c \
    'echo $GOMAXPROCS $GOSSAMER_STACK $GOSSAMER_CHILDREN')" "3 256K drop"
# shellcheck disable=SC2016
is "no options" "$($g sh -c 'echo ${GOMAXPROCS-}${GOSSAMER_STACK-}${GOSSAMER_CHILDREN-}')" ""

# --- statuses of its own ---

for bad in "" "-p 0 ./prog" "-p 4x ./prog" "-p 257 ./prog" "-s 1 ./prog" "-s x ./prog" \
    "--children=some ./prog" "--nosuch ./prog" "-z ./prog" "-p" "check" "--require=1 ./prog"; do
    # shellcheck disable=SC2086
    line=$($g $bad 2>&1)
    is "status of '$bad'" $? 125
    has "line of '$bad'" "$line" "gossamer: "
    is "one line of '$bad'" "$(echo "$line" | wc -l)" 1
done
status 127 $g ./nosuch
status 127 $g nosuch-program
status 127 $g check nosuch-program
status 126 $g ./prog.c
status 126 $g "$dir"
status 0 $g --help
status 0 $g --version
if [ -w /dev/full ]; then
    $g --help > /dev/full 2>&1
    is "--help > /dev/full" $? 125
fi

# --- what cannot run on Gs ---

if $CC -static -o static prog.c 2>/dev/null; then
    native ./static "statically linked"
    is "static runs" "$($g -q ./static)" "./static none"
    is "static, preload kept" "$(LD_PRELOAD=$dir/other.so $g -q ./static)" "./static $dir/other.so"
    is "static, our preload dropped" "$(LD_PRELOAD=$lib $g -q ./static)" "./static none"
    printf '#!%s/static\n' "$dir" > script
    printf '#!%s/script\n' "$dir" > script2
    printf '#!/usr/bin/env static\n' > escript
    printf '#!/usr/bin/env -S A=1 static -x\n' > sscript
    chmod +x script script2 escript sscript
    native ./script "interpreter $dir/static: statically linked"
    native ./script2 "interpreter $dir/static: statically linked"
    PATH=$dir:$PATH
    native ./escript "interpreter $dir/static: statically linked"
    native ./sscript "interpreter $dir/static: statically linked"
    PATH=${PATH#*:}
else
    skip "static programs: $CC -static does not link here"
fi
if $CC -static-pie -o spie prog.c 2>/dev/null; then
    native ./spie "statically linked"
fi
for s in address thread; do
    case $s in address) name=AddressSanitizer ;; *) name=ThreadSanitizer ;; esac
    if $CC -fsanitize=$s -o san prog.c 2>/dev/null; then
        native ./san "built with $name"
        # As a child of a program on Gs it is not looked at beforehand, and its runtime comes behind our library.
        [ ! -r "$real" ] || is "$name, preloaded" "$(LD_PRELOAD=$real ./san 7 2>&1; echo $?)" 7
    else
        skip "$name: $CC does not link it here"
    fi
done
if command -v go >/dev/null && [ "$(go env GOOS 2>/dev/null)" = linux ]; then
    has "Go" "$($g check go)" "reason: a Go program has its own scheduler"
else
    skip "Go programs: there is none here"
fi
if $CC -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o musl prog.c; then
    has "musl" "$($g check ./musl)" "reason: uses musl, not glibc"
fi
GOSSAMER_DISABLE=1
export GOSSAMER_DISABLE
native ./prog "GOSSAMER_DISABLE is set"
unset GOSSAMER_DISABLE

# A foreign machine: e_machine at offset 18 is 183, arm64; EI_CLASS at 4.
cp prog arm && printf '\267\000' | dd of=arm bs=1 seek=18 conv=notrunc 2>/dev/null
has "arm" "$($g check ./arm)" "reason: built for another architecture (arm64)"
cp prog i386 && printf '\001' | dd of=i386 bs=1 seek=4 conv=notrunc 2>/dev/null
has "32 bit" "$($g check ./i386)" "reason: built for another architecture"

# --- scripts ---

printf '#!/bin/sh\necho "$LD_PRELOAD"\n' > sh1
printf 'echo "$LD_PRELOAD"\n' > sh2
printf '#! /usr/bin/env -S sh -e\necho "$LD_PRELOAD"\n' > sh3
printf '#!/usr/bin/env -S -i sh\necho "${LD_PRELOAD-none}"\n' > sh4
printf '#!/nosuch/interpreter\n' > sh5
printf '#!%s/loop\n' "$dir" > loop
printf '#!' > sh6
: > empty
chmod +x sh1 sh2 sh3 sh4 sh5 sh6 loop empty
is "script" "$($g ./sh1)" "$lib"
is "script without #!" "$($g ./sh2)" "$lib"
is "script with env -S" "$($g ./sh3)" "$lib"
has "script names its interpreter" "$($g check ./sh1)" "interpreter: /bin/sh"
has "env -i" "$($g check ./sh4)" "reason: its #! line lets env clear LD_PRELOAD"
status 127 $g ./sh5
is "one line if the interpreter is missing" "$($g ./sh5 2>&1 | wc -l)" 1
has "loop" "$($g check ./loop)" "reason: too many interpreters in a row"
status 1 $g check ./sh6
status 0 $g ./empty

# --- truncated and damaged files never crash it ---

size=$(wc -c < prog)
n=0
while [ $n -lt "$size" ]; do
    head -c $n prog > "cut"
    chmod +x cut
    $g check ./cut >/dev/null 2>&1
    st=$?
    [ $st -le 1 ] || fail "check of a file cut at $n: status $st"
    n=$((n * 5 / 4 + 7))
done
head -c 2000 prog > "cut"
has "truncated" "$($g check ./cut)" "reason: not a complete ELF executable"
head -c 40 prog > "cut"
has "truncated header" "$($g ./cut 2>&1)" "gossamer: ./cut: not a complete ELF file; running on"
status 126 $g -q ./cut
n=0
while [ $n -lt 1024 ]; do       # 0xff over each part of the headers
    cp prog cut
    printf '\377\377\377\377\377\377\377\377' | dd of=cut bs=1 seek=$n conv=notrunc 2>/dev/null
    $g check ./cut >/dev/null 2>&1
    st=$?
    [ $st -le 1 ] || fail "check of a file damaged at $n: status $st"
    n=$((n + 8))
done

# --- setuid, file capabilities ---

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$dir" && cp prog suid && chown 1:1 suid && chmod 4755 suid
    user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    case $(findmnt -no OPTIONS -T "$dir" 2>/dev/null) in
    *nosuid*) skip "setuid: $dir is mounted nosuid" ;;
    *)
        has "setuid" "$($user $g check ./suid)" "reason: setuid"
        is "setuid --require" "$($user $g --require ./suid 2>&1)" \
            "gossamer: ./suid: setuid; not run (--require)"
        has "setuid, run by its owner" "$(setpriv --reuid=1 --regid=1 --clear-groups \
            $g check ./suid)" "verdict: Gs"
        has "setuid, no_new_privs" "$($user --no-new-privs $g check ./suid)" "verdict: Gs"
        cp prog caps
        if setcap cap_net_raw+ep caps 2>/dev/null; then
            has "capabilities" "$($user $g check ./caps)" "reason: has file capabilities"
            has "capabilities, as root" "$($g check ./caps)" "verdict: Gs"
        else
            skip "file capabilities: setcap is missing or not allowed"
        fi ;;
    esac
    cp prog unreadable && chmod 711 unreadable
    has "unreadable" "$($user $g check ./unreadable)" "reason: cannot be read (Permission denied)"
else
    skip "setuid: needs root and setpriv"
fi

# --- check ---

out=$($g check ./prog)
is "status of check" $? 0
is "keys of check" "$(echo "$out" | sed 's/: .*//' | tr '\n' ' ')" \
    "program interpreter verdict reason gomaxprocs gomaxprocs-from gomaxprocs-problem cpus \
library glibc fsgsbase guard-regions rwf-nowait policy "
has "check" "$out" "verdict: Gs"
has "check" "$out" "library: $lib"
has "check -p" "$($g -p 3 check ./prog)" "gomaxprocs: 3
gomaxprocs-from: -p"
has "check, -p behind" "$($g check -p 3 ./prog)" "gomaxprocs-from: -p"
has "check GOMAXPROCS" "$(GOMAXPROCS=5 $g check ./prog)" "gomaxprocs: 5
gomaxprocs-from: GOMAXPROCS"
has "check nonsense" "$(GOMAXPROCS=4x $g check ./prog)" "gomaxprocs-problem: not a number"
has "check clamped" "$(GOMAXPROCS=300 $g check ./prog)" "gomaxprocs: 256"
cp prog check
is "a program called check" "$(PATH=$dir:$PATH $g -- check)" "check $lib"

# --- the library is missing, wrong, or in a directory that cannot be named ---

for where in lib lib/x86_64-linux-gnu; do
    mkdir -p $where/gossamer && cp "$lib" $where/gossamer/
    is "library in $where" "$(bin/../alone/gossamer ./prog)" "./prog $dir/$where/gossamer/libgossamer.so"
    rm -r lib
done
g=$dir/alone/gossamer
installed=$($g check ./prog | sed -n 's/^library: //p')
if [ "$installed" = none ]; then
    native ./prog "libgossamer.so not found"
    echo garbage > alone/libgossamer.so
    native ./prog "$dir/alone/libgossamer.so is not a library of this architecture"
else
    skip "a missing library: $installed is installed"
fi
mkdir "a b" && cp bin/gossamer bin/.libs/libgossamer.so "a b/"
if [ "$installed" = none ]; then
    has "blank in the path" "$("a b/gossamer" check ./prog)" "reason: LD_PRELOAD cannot hold the path"
fi

[ $failed = 0 ] && echo "all passed"
[ $failed = 0 ]

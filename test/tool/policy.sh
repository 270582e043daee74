#!/bin/sh
# gossamer.conf: which file and line counts, what it sets, what wins over it, and
# what is said about bad lines. The command is copied beside an empty library.

set -u
: "${GOSSAMER:=$(pwd)/gossamer}" "${CC:=cc}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-policy-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
failed=0
unset LD_PRELOAD GOMAXPROCS GOSSAMER_STACK GOSSAMER_CHILDREN GOSSAMER_DISABLE

# is WHAT GOT WANTED
is()
{
    [ "$2" = "$3" ] && return
    echo "FAIL: $1: got '$2', wanted '$3'"
    failed=$((failed + 1))
}

mkdir "$dir/bin" "$dir/xdg" "$dir/home" "$dir/home/.config" && cp "$GOSSAMER" "$dir/bin/gossamer" || exit 99
cd "$dir" || exit 99
echo 'int gossamer_stub;' | $CC -shared -fPIC -o bin/libgossamer.so -x c - || exit 99
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "${LD_PRELOAD:-none} ${GOMAXPROCS-}/${GOSSAMER_STACK-}/${GOSSAMER_CHILDREN-}"\n' > prog
chmod +x prog && cp prog other || exit 99
g=$dir/bin/gossamer
lib=$dir/bin/libgossamer.so
conf=$dir/test.conf
export GOSSAMER_CONF="$conf"

cat > "$conf" <<'END'
# a comment, and an empty line

nobody  off
pro?    gomaxprocs=3 stack=256K children=drop   # and another
prog    off
*/other off
END
is "settings" "$($g ./prog 2>&1)" "$lib 3/256K/drop"
is "options win" "$($g -p 2 -s 1M --children=keep ./prog)" "$lib 2/1M/keep"
is "the environment wins" "$(GOMAXPROCS=5 GOSSAMER_STACK=2M $g ./prog)" "$lib 5/2M/drop"
is "off" "$($g ./other 2>&1)" "gossamer: ./other: off in $conf:6; running on native threads
none //"
is "off, -q" "$($g -q ./other 2>&1)" "none //"
is "off, --require" "$($g --require ./other 2>&1; echo $?)" "gossamer: ./other: off in $conf:6; not run (--require)
125"
is "check" "$($g check ./prog | grep -E '^(verdict|policy|gomaxprocs(-from)?):')" "verdict: Gs
gomaxprocs: 3
gomaxprocs-from: policy
policy: $conf:4"
is "check, off" "$($g check ./other | grep -E '^(verdict|reason|interpreter):')" "interpreter: /bin/sh
verdict: native threads
reason: off in $conf:6"
is "check, none" "$($g check /bin/true | grep -E '^policy:')" "policy: none"

# bad lines: each is named, and the one behind them counts
cat > "$conf" <<'END'
prog nonsense
prog gomaxprocs=0
prog stack=1
prog children=some gomaxprocs=2
prog
prog colour=blue
prog gomaxprocs=2
END
is "bad lines" "$($g ./prog 2>&1)" "gossamer: $conf:1: 'nonsense' is not a setting; the line is skipped
gossamer: $conf:2: '0' is not a number from 1 to 256; the line is skipped
gossamer: $conf:3: '1' is not a stack size from 16K to 1024G; the line is skipped
gossamer: $conf:4: 'some' is neither keep nor drop; the line is skipped
gossamer: $conf:5: 'prog' has no setting; the line is skipped
gossamer: $conf:6: 'colour=blue' is not a setting; the line is skipped
$lib 2//"

# which file
is "no such file" "$(GOSSAMER_CONF=/nonexistent/x $g ./prog 2>&1)" "gossamer: /nonexistent/x: No such file or directory; it is ignored
$lib //"
is "no file" "$(GOSSAMER_CONF='' $g ./prog 2>&1)" "$lib //"
unset GOSSAMER_CONF
echo 'prog gomaxprocs=6' > xdg/gossamer.conf
echo 'prog gomaxprocs=7' > home/.config/gossamer.conf
is "XDG_CONFIG_HOME" "$(XDG_CONFIG_HOME=$dir/xdg HOME=$dir/home $g ./prog)" "$lib 6//"
is "HOME" "$(XDG_CONFIG_HOME='' HOME=$dir/home $g ./prog)" "$lib 7//"
if [ ! -e /etc/gossamer.conf ]; then
    is "neither" "$(XDG_CONFIG_HOME=$dir HOME=$dir $g ./prog 2>&1)" "$lib //"
fi
[ $failed = 0 ] && echo "all passed"
[ $failed = 0 ]

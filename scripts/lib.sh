#!/bin/bash
# What the scripts share: where things are, installing packages, building out of the tree. Sourced by bash.
# Environment: GOSSAMER_NO_INSTALL=1 installs nothing; GOSSAMER_BUILD is the build directory (default build/).
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${GOSSAMER_BUILD:-$top/build}
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# missing SECTION...: the packages of these sections that are not here, one a line
missing() {
    local section='' want=" $* " pkg cmd
    while read -r pkg cmd; do
        case $pkg in
        ''|'#'*) continue ;;
        '['*) section=${pkg//[\[\]]/}; continue ;;
        esac
        [[ $want == *" $section "* ]] || continue
        [ -n "$cmd" ] && command -v "$cmd" >/dev/null 2>&1 && continue
        dpkg-query -W -f='${Status}' "$pkg" 2>/dev/null | grep -q 'ok installed' && continue
        printf '%s\n' "$pkg"
    done < "$top/scripts/packages" | sort -u
}

# need SECTION...: installs what is missing
need() {
    local pkgs root=''
    pkgs=$(missing "$@" | tr '\n' ' ')
    [ -n "$pkgs" ] || return 0
    if [ "${GOSSAMER_NO_INSTALL:-0}" = 1 ]; then
        say "not installed, as GOSSAMER_NO_INSTALL=1 asks: $pkgs"
        return 0
    fi
    command -v apt-get >/dev/null || die "no apt-get here; please install: $pkgs"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "neither root nor sudo; please install: $pkgs"
        root=sudo
    fi
    say "installing $pkgs"
    # shellcheck disable=SC2086 # a list of words on purpose
    { $root env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
      $root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $pkgs; } \
        </dev/null >"${TMPDIR:-/tmp}/gossamer-apt.$$" 2>&1 ||
        { tail -n 20 "${TMPDIR:-/tmp}/gossamer-apt.$$" >&2; die "apt-get failed"; }
    rm -f "${TMPDIR:-/tmp}/gossamer-apt.$$"
}

# bootstrap: makes ./configure where it is missing or older than what it is made from
bootstrap() {
    local f
    [ -f "$top/configure.ac" ] || die "no configure.ac in $top"
    if [ -f "$top/configure" ] && [ -f "$top/Makefile.in" ]; then
        for f in configure.ac Makefile.am src/sources.am test/tests.am; do
            [ -f "$top/$f" ] && [ "$top/$f" -nt "$top/Makefile.in" ] && break
            f=''
        done
        [ -n "$f" ] || return 0
    fi
    (cd "$top" && autoreconf -fi) || die "autoreconf failed"
    touch "$top/Makefile.in"
}

# build_in DIR [CONFIGURE ARGUMENTS]: configures (once) and builds the library and the tool there
build_in() {
    local dir=$1
    shift
    mkdir -p "$dir" || return 1
    # $top is written relative to DIR where it is just above, so that nothing absolute gets into the objects
    local conf=$top/configure
    [ "$(cd "$dir/.." && pwd)" = "$top" ] && conf=../configure
    if [ ! -f "$dir/Makefile" ] || [ "$top/configure" -nt "$dir/config.status" ]; then
        (cd "$dir" && "$conf" -q "$@") </dev/null || return 1
    fi
    make -C "$dir" -s -j "$jobs" </dev/null
}

# prog NAME: compiles test/bench/NAME.c or test/stress/NAME.c, prints where it is
prog() {
    local src
    for src in "$top/test/bench/$1.c" "$top/test/stress/$1.c"; do
        [ -f "$src" ] && break
    done
    mkdir -p "$build/programs" || return 1
    if [ "$src" -nt "$build/programs/$1" ]; then
        ${CC:-cc} -std=gnu11 -O2 -pthread -o "$build/programs/$1" "$src" >&2 || return 1
    fi
    printf '%s\n' "$build/programs/$1"
}

# median: of the numbers on stdin, one a line; nothing where there are none
median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

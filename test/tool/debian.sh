#!/bin/sh
# The Debian packages: they are built from the sources as they are here, lintian
# finds nothing, and the command of the one finds the library of the other.

set -u
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
for tool in dpkg-buildpackage dh lintian autoreconf; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/gossamer-debian-XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
failed=0
unset LD_PRELOAD GOSSAMER MAKEFLAGS MAKELEVEL MFLAGS CC CXX

fail()
{
    echo "FAIL: $*"
    failed=$((failed + 1))
}

# What is in the repository, or would be: nothing that was built.
mkdir "$dir/gossamer" || exit 99
(cd "$top_srcdir" && tar cf - .gitignore CONTRIBUTING.md Makefile.am README.md autogen.sh completions configure.ac \
    debian gdb include man scripts src test) 2>/dev/null | (cd "$dir/gossamer" && tar xf -)
cd "$dir/gossamer" || exit 99
(dpkg-checkbuilddeps) >"$dir/log" 2>&1 || { cat "$dir/log"; exit 77; }
if ! DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b >"$dir/log" 2>&1 </dev/null; then
    tail -n 40 "$dir/log"
    echo "FAIL: dpkg-buildpackage"
    exit 1
fi
found=$(lintian --allow-root "$dir"/*.changes 2>&1)
[ -z "$found" ] || fail "lintian: $found"
mkdir "$dir/root" || exit 99
for p in gossamer libgossamer0; do
    dpkg-deb -x "$dir/${p}"_*.deb "$dir/root" || fail "no package $p"
    dpkg-deb -c "$dir/${p}"_*.deb >"$dir/$p.list" || fail "no list of $p"
done
for f in usr/bin/gossamer usr/include/gossamer.h usr/share/man/man1/gossamer.1.gz usr/share/man/man5/gossamer.conf.5.gz usr/share/man/man7/gossamer.7.gz \
    usr/share/bash-completion/completions/gossamer usr/share/zsh/vendor-completions/_gossamer; do
    grep -q " ./$f\$" "$dir/gossamer.list" || fail "gossamer has no $f"
done
grep -q '/auto-load/usr/lib/.*/gossamer/libgossamer\.so-gdb\.py$' "$dir/libgossamer0.list" || fail "libgossamer0 has no gdb script"
grep -q '/gossamer/libgossamer\.so$' "$dir/libgossamer0.list" || fail "libgossamer0 has no library"
line=$("$dir/root/usr/bin/gossamer" check /bin/true | grep '^library: ')
[ "$line" = "library: $(echo "$dir"/root/usr/lib/*/gossamer/libgossamer.so)" ] || fail "it takes $line"
# and where the packages are installed
strings "$dir/root/usr/bin/gossamer" | grep -qx "/$(cd "$dir/root" && echo usr/lib/*/gossamer)" ||
    fail "the directory of the library is not in the command"
[ $failed = 0 ]

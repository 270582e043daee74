#!/bin/sh
# make check: all of test/conform with the wrapper that was built.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${top_builddir:=$top_srcdir/build}"
: "${GOSSAMER:=$top_builddir/gossamer}"
command -v python3 >/dev/null || { echo "skipped: it needs python3"; exit 77; }
exec "$top_srcdir/test/conform/run" -j 2 --gossamer "$GOSSAMER" --build "$top_builddir/test/conform"

#!/bin/sh
# make check: all of test/real with the wrapper that was built.
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}" "${top_builddir:=$top_srcdir/build}"
: "${GOSSAMER:=$top_builddir/gossamer}"
export GOSSAMER
command -v bash >/dev/null || { echo "skipped: it needs bash"; exit 77; }
exec "$top_srcdir/test/real/run"

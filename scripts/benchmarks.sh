#!/bin/sh
# Names the packages of the modules named that have benchmarks, as go test takes them:
#
#	scripts/benchmarks.sh MODULE...
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: scripts/benchmarks.sh MODULE..." >&2; exit 2; }
grep -rlE --include='*_test.go' '^func Benchmark' "$@" | sed 's,^,./,; s,/[^/]*$,,' | LC_ALL=C sort -u
